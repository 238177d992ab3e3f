use super::*;

const MINUTE: i64 = 60_000;
const WIDTH_PX: f64 = 1_000.0;

fn utc(_: i64) -> i64 {
    0
}

/// Steps that each start with their first event.
fn steps(starts: &[usize], count: usize, ms: &[Option<i64>]) -> Vec<StepMoments> {
    let ends = starts.iter().skip(1).copied().chain([count]);
    starts
        .iter()
        .zip(ends)
        .map(|(start, end)| StepMoments {
            at_ms: ms.get(*start).copied().flatten(),
            ended_ms: None,
            events: *start..end,
        })
        .collect()
}

fn axis(scale: Scale, ms: &[Option<i64>], starts: &[usize]) -> Axis {
    let steps = steps(starts, ms.len(), ms);
    Axis::new(scale, ms.len(), |event| ms.get(event).copied().flatten(), steps.into_iter())
}

fn minutes(minutes: &[i64]) -> Vec<Option<i64>> {
    minutes.iter().map(|minute| Some(minute * MINUTE)).collect()
}

fn is_monotonic(axis: &Axis) -> bool {
    (1..axis.event_count()).all(|event| axis.position(event - 1) <= axis.position(event))
}

#[test]
fn long_pauses_are_folded_and_keep_their_length() {
    let mut axis = axis(Scale::Time, &minutes(&[0, 1, 2, 50, 51, 52]), &[0, 3]);
    let view = axis.show_all(WIDTH_PX);
    let gaps: Vec<Gap> = axis.gaps().collect();
    assert_eq!(gaps.len(), 1);
    assert_eq!(gaps[0].ms, 48 * MINUTE);
    assert_eq!(gaps[0].from_ms, 2 * MINUTE);
    assert_eq!(gaps[0].position, axis.position(2));
    assert!((axis.position(3) - axis.position(2) - gaps[0].width).abs() < 1e-6);
    let width_px = gaps[0].width / view.span() * WIDTH_PX;
    assert!((width_px - FOLD_PX).abs() < 1e-6, "{width_px}");
    assert!((axis.length() - 4.0 * MINUTE as f64 - axis.fold()).abs() < 1e-6);
    // The first step ends before the pause, the second starts behind it.
    assert_eq!(axis.step_span(0).unwrap().1, gaps[0].position);
    assert_eq!(axis.step_span(1).unwrap().0, axis.position(3));
}

#[test]
fn a_slow_session_is_not_cut_to_pieces() {
    let axis = axis(Scale::Time, &minutes(&[0, 10, 20, 30, 40, 400]), &[0]);
    assert_eq!(axis.gaps().map(|gap| gap.ms).collect::<Vec<_>>(), [360 * MINUTE]);
}

#[test]
fn a_fold_keeps_its_width_on_the_screen_when_zooming() {
    let mut axis = axis(Scale::Time, &minutes(&[0, 1, 2, 50, 51, 52, 90, 91, 92]), &[0]);
    let mut view = axis.show_all(WIDTH_PX);
    for factor in [0.5, 0.3, 0.9, 1.2, 0.2] {
        let anchor = axis.position(4);
        let before = view.fraction(anchor);
        view = axis.zoom(view, anchor, factor, WIDTH_PX);
        assert!((view.fraction(axis.position(4)) - before).abs() < 1e-6, "the anchor stays where it is");
        let width_px = axis.fold() / view.span() * WIDTH_PX;
        assert!((width_px - FOLD_PX).abs() < 1e-3, "{width_px}");
    }
    view = axis.zoom(view, 0.0, 1e9, WIDTH_PX);
    assert_eq!(view, View { start: 0.0, end: axis.length() });
}

#[test]
fn fitting_fills_the_width_with_what_was_asked_for() {
    let mut axis = axis(Scale::Time, &minutes(&[0, 1, 2, 50, 51, 52, 90, 91, 92]), &[0]);
    axis.show_all(WIDTH_PX);
    let wanted = View { start: axis.position(1), end: axis.position(4) };
    let view = axis.fit(wanted, WIDTH_PX);
    assert!((view.start - axis.position(1)).abs() < 1e-6);
    assert!((view.end - axis.position(4)).abs() < 1e-6);
    assert!((axis.fold() / view.span() * WIDTH_PX - FOLD_PX).abs() < 1e-6);
}

#[test]
fn clocks_that_go_back_and_missing_times_keep_the_order() {
    let ms: Vec<Option<i64>> =
        [Some(5_000), None, Some(1_000), Some(9_000), None, Some(8_000), Some(10_000)].into_iter().collect();
    let axis = axis(Scale::Time, &ms, &[0, 3]);
    assert!(is_monotonic(&axis));
    assert_eq!(
        (0..7).map(|event| axis.position(event)).collect::<Vec<_>>(),
        [0.0, 0.0, 0.0, 4_000.0, 4_000.0, 4_000.0, 5_000.0]
    );
}

#[test]
fn one_wrong_moment_in_the_future_swallows_nothing_behind_it() {
    let year = 365 * 24 * 60;
    let axis = axis(Scale::Time, &minutes(&[0, 1, 30 * year, 2, 3, 4]), &[0]);
    assert!(is_monotonic(&axis));
    assert!(axis.position(5) > axis.position(3));
}

#[test]
fn hostile_moments_overflow_nothing() {
    let ms = [Some(i64::MIN), Some(i64::MAX), Some(0), Some(i64::MIN), None, Some(i64::MAX)];
    let mut axis = axis(Scale::Time, &ms, &[0, 2]);
    assert!(is_monotonic(&axis));
    let view = axis.show_all(WIDTH_PX);
    assert!(axis.length().is_finite() && view.span().is_finite());
    axis.ticks(view, WIDTH_PX, &utc);
    let view = axis.zoom(view, 0.0, 1e-12, WIDTH_PX);
    axis.ticks(view, WIDTH_PX, &utc);
}

#[test]
fn a_session_in_which_no_time_passes_gets_the_step_scale() {
    for ms in [vec![None; 4], vec![Some(7); 4], vec![Some(7)], Vec::new()] {
        let mut axis = axis(Scale::Time, &ms, if ms.is_empty() { &[] } else { &[0] });
        assert_eq!(axis.scale(), Scale::Step);
        let view = axis.show_all(WIDTH_PX);
        assert!(view.span() > 0.0);
        axis.ticks(view, WIDTH_PX, &utc);
        assert_eq!(axis.nearest_event(0.7), if ms.is_empty() { None } else { Some(0) });
    }
}

#[test]
fn steps_without_events_have_a_width_on_the_step_scale() {
    let moments = [0..2, 2..2, 2..3].map(|events| StepMoments { at_ms: None, ended_ms: None, events });
    let axis = Axis::new(Scale::Step, 3, |_| None, moments.into_iter());
    assert_eq!(axis.step_span(0), Some((0.0, 3.0)));
    assert_eq!(axis.step_span(1), Some((3.0, 4.0)));
    assert_eq!(axis.step_span(2), Some((4.0, 6.0)));
    assert_eq!(axis.position(2), 5.5);
    assert_eq!(axis.length(), 6.0);
    assert_eq!((axis.nearest_step(3.2), axis.nearest_step(99.0), axis.nearest_step(-1.0)), (Some(1), Some(2), Some(0)));
}

#[test]
fn steps_that_overlap_or_lie_outside_are_survived() {
    let backwards = Range { start: 4, end: 2 };
    let moments = [backwards, 0..9, 3..4].map(|events| StepMoments { at_ms: Some(0), ended_ms: None, events });
    for scale in [Scale::Time, Scale::Step] {
        let axis = Axis::new(scale, 3, |event| Some(event as i64), moments.clone().into_iter());
        assert_eq!(axis.event_count(), 3);
        assert!(is_monotonic(&axis));
        assert!((0..3).all(|step| axis.step_span(step).is_some_and(|(start, end)| start <= end)));
    }
}

#[test]
fn the_nearest_event_is_found() {
    let axis = axis(Scale::Time, &minutes(&[0, 1, 2, 50, 51]), &[0]);
    for event in 0..5 {
        assert_eq!(axis.nearest_event(axis.position(event)), Some(event));
        assert_eq!(axis.nearest_event(axis.position(event) + 1.0), Some(event));
    }
    assert_eq!(axis.nearest_event(-5.0), Some(0));
    assert_eq!(axis.nearest_event(1e18), Some(4));
}

fn labels(axis: &Axis, view: View, width_px: f64) -> Vec<String> {
    axis.ticks(view, width_px, &utc).into_iter().map(|tick| tick.label).collect()
}

#[test]
fn ticks_are_round_and_name_the_start_after_a_pause() {
    let noon = 12 * 60;
    let mut axis =
        axis(Scale::Time, &minutes(&[noon + 2, noon + 4, noon + 6, noon + 9, noon + 60, noon + 62, noon + 70]), &[0]);
    let view = axis.show_all(WIDTH_PX);
    assert_eq!(
        labels(&axis, view, WIDTH_PX),
        ["12:02", "12:04", "12:06", "12:08", "13:00", "13:02", "13:04", "13:06", "13:08", "13:10"]
    );
    let near = View { start: axis.position(0), end: axis.position(0) + 20_000.0 };
    assert_eq!(labels(&axis, near, 400.0), ["12:02:00", "12:02:05", "12:02:10", "12:02:15", "12:02:20"]);
    let nearer = View { start: 100.0, end: 700.0 };
    assert_eq!(labels(&axis, nearer, 400.0), ["12:02:00.200", "12:02:00.400", "12:02:00.600"]);
}

#[test]
fn ticks_keep_their_distance() {
    let ms: Vec<Option<i64>> = (0..5_000).map(|event| Some(event * 7 * MINUTE)).collect();
    for scale in [Scale::Time, Scale::Step] {
        let mut axis = axis(scale, &ms, &(0..5_000).step_by(3).collect::<Vec<_>>());
        let view = axis.show_all(WIDTH_PX);
        let ticks = axis.ticks(view, WIDTH_PX, &utc);
        assert!((4..=14).contains(&ticks.len()), "{ticks:?}");
        for pair in ticks.windows(2) {
            assert!(view.fraction(pair[1].position - pair[0].position + view.start) * WIDTH_PX > 75.0);
        }
    }
}

#[test]
fn dates_are_named_when_the_day_changes() {
    let mut axis = axis(Scale::Time, &minutes(&[23 * 60 + 40, 23 * 60 + 50, 24 * 60, 24 * 60 + 10]), &[0]);
    let view = axis.show_all(400.0);
    assert_eq!(labels(&axis, view, 400.0), ["1 Jan 23:40", "23:50", "2 Jan 00:00", "00:10"]);
}

#[test]
fn ticks_are_round_by_the_local_clock() {
    let mut axis = axis(Scale::Time, &minutes(&[0, 60, 120, 180, 240]), &[0]);
    let view = axis.show_all(400.0);
    let ticks = axis.ticks(view, 400.0, &|_| 330 * MINUTE);
    let labels: Vec<&str> = ticks.iter().map(|tick| tick.label.as_str()).collect();
    assert_eq!(labels, ["05:30", "07:00", "08:00", "09:00"]);
}

#[test]
fn the_step_scale_is_labelled_by_step_numbers() {
    let ms = vec![None; 300];
    let mut axis = axis(Scale::Step, &ms, &(0..100).map(|step| step * 3).collect::<Vec<_>>());
    let view = axis.show_all(WIDTH_PX);
    assert_eq!(
        labels(&axis, view, WIDTH_PX),
        [
            "step 1", "step 10", "step 20", "step 30", "step 40", "step 50", "step 60", "step 70", "step 80",
            "step 90", "step 100"
        ]
    );
}

#[test]
fn views_stay_within_the_axis() {
    let view = View { start: 10.0, end: 30.0 };
    assert_eq!(view.panned(-50.0, 100.0), View { start: 0.0, end: 20.0 });
    assert_eq!(view.panned(500.0, 100.0), View { start: 80.0, end: 100.0 });
    assert_eq!(view.panned(5.0, 15.0), View { start: 0.0, end: 15.0 });
    assert_eq!(view.revealing(20.0, 100.0), view);
    let moved = view.revealing(50.0, 100.0);
    assert!(moved.contains(50.0) && (moved.span() - 20.0).abs() < 1e-9);
    assert_eq!(view.revealing(100.0, 100.0).end, 100.0);
}

#[test]
fn a_million_events_are_told_apart() {
    // Eleven days, an event every second.
    let count = 1_000_000;
    let start = 1_790_000_000_000;
    let steps = (0..count / 10).map(|step| StepMoments {
        at_ms: Some(start + step as i64 * 10_000),
        ended_ms: None,
        events: step * 10..(step + 1) * 10,
    });
    for scale in [Scale::Time, Scale::Step] {
        let mut axis = Axis::new(scale, count, |event| Some(start + event as i64 * 1_000), steps.clone());
        let mut view = axis.show_all(WIDTH_PX);
        let wanted = count - 3;
        for _ in 0..100 {
            view = axis.zoom(view, axis.position(wanted), 0.7, WIDTH_PX);
        }
        assert!((view.span() - axis.narrowest()).abs() < 1e-3, "{}", view.span());
        assert!(view.contains(axis.position(wanted)));
        assert_eq!(axis.nearest_event(axis.position(wanted)), Some(wanted));
        assert_eq!(axis.events_before(axis.position(wanted)), wanted);
        assert_eq!(axis.step_span(99_999).map(|(start, _)| axis.steps_before(start)), Some(99_999));
    }
}
