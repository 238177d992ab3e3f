//! What is laid out where.

use super::super::chart::Chart;
use super::super::lanes::{Class, Lane};
use super::super::layout::{MARK_HALF_PX, THINNEST_PX, short_count};
use super::fixture::{approval, empty, event, long, step, story};
use crate::model::{Decision, StepKind};
use crate::ui::widgets::time_axis::{Scale, View};
use crate::workspace::outline::Outline;

const WIDTH_PX: f64 = 1_100.0;

fn chart(session: &crate::model::Session, scale: Scale) -> Chart {
    let mut chart = Chart::new(&Outline::of(session), scale);
    chart.set_width(WIDTH_PX);
    chart.lay_out();
    chart
}

fn check(chart: &Chart) {
    let layout = chart.layout();
    for bar in &layout.bars {
        assert!(bar.right - bar.left >= THINNEST_PX - 1e-6, "{bar:?}");
    }
    for pair in layout.bars.windows(2) {
        assert!(pair[0].right < pair[1].left, "{pair:?}");
        assert_eq!(pair[0].last + 1, pair[1].first);
    }
    for row in &layout.rows {
        for pair in row.marks.windows(2) {
            assert!(pair[0].x + pair[0].width <= pair[1].x + MARK_HALF_PX, "{pair:?}");
            assert!(pair[0].events.end <= pair[1].events.start);
        }
    }
}

#[test]
fn classes_are_numbered_as_they_are_listed() {
    for (index, class) in Class::ALL.into_iter().enumerate() {
        assert_eq!(class as usize, index);
    }
    for (index, lane) in Lane::ALL.into_iter().enumerate() {
        assert_eq!(lane as usize, index);
    }
}

#[test]
fn every_mark_and_every_step_is_in_one_place() {
    for session in [story(), long(7_000)] {
        for scale in [Scale::Time, Scale::Step] {
            let chart = chart(&session, scale);
            check(&chart);
            let layout = chart.layout();
            for row in &layout.rows {
                let count: usize = row.marks.iter().map(|mark| mark.count).sum();
                assert_eq!(count, chart.marks.lane(row.lane).len());
            }
            assert_eq!(layout.bars.first().map(|bar| bar.first), Some(1));
            assert_eq!(layout.bars.last().map(|bar| bar.last as usize), Some(session.steps.len()));
        }
    }
}

#[test]
fn nothing_overlaps_at_any_zoom() {
    let session = long(7_000);
    let mut chart = chart(&session, Scale::Time);
    for zoom in 0..40 {
        chart.zoom(WIDTH_PX * 0.3, 0.8);
        chart.pan(f64::from(zoom) * 7.0);
        chart.lay_out();
        check(&chart);
    }
}

#[test]
fn panning_regroups_nothing() {
    let session = long(7_000);
    let mut chart = chart(&session, Scale::Time);
    (0..4).for_each(|_| chart.zoom(WIDTH_PX / 2.0, 0.6));
    chart.lay_out();
    // Both ends may be cut.
    let inner = |chart: &Chart| {
        let marks = &chart.layout().rows[0].marks;
        marks[2..marks.len() - 2].iter().map(|mark| mark.events.clone()).collect::<Vec<_>>()
    };
    let before = inner(&chart);
    chart.pan(40.0);
    chart.lay_out();
    let after = inner(&chart);
    let shared = before.iter().filter(|events| after.contains(events)).count();
    assert!(shared + 3 >= before.len(), "{before:?} {after:?}");
}

#[test]
fn steps_too_near_to_each_other_become_one_bar() {
    let mut session = empty();
    for index in 0..200 {
        step(&mut session, StepKind::Prompt, "Quick", Some(f64::from(index)));
    }
    step(&mut session, StepKind::Prompt, "Slow", Some(260.0));
    event(&mut session, Some(360.0), Some(approval(Decision::Granted)));
    let chart = chart(&session, Scale::Time);
    check(&chart);
    let bars = &chart.layout().bars;
    assert!(bars.len() < 30, "{}", bars.len());
    assert!(bars.iter().any(|bar| bar.first < bar.last));
    assert_eq!(bars.last().map(|bar| (bar.first, bar.last)), Some((201, 201)));
}

#[test]
fn a_brush_shows_what_it_covers() {
    let session = story();
    let mut chart = chart(&session, Scale::Time);
    let wanted = View { start: chart.position_at_whole(300.0), end: chart.position_at_whole(900.0) };
    chart.show(wanted);
    assert!((chart.whole_x(chart.view().start) - 300.0).abs() < 1e-6);
    assert!((chart.whole_x(chart.view().end) - 900.0).abs() < 1e-6);
    chart.set_width(WIDTH_PX * 2.0);
    assert!(!chart.is_whole());
    // The folded pauses take less of a wider strip.
    assert!((chart.whole_x(chart.view().start) - 600.0).abs() < 30.0);
}

#[test]
fn counts_take_four_signs() {
    for (count, words) in [(7, "7"), (999, "999"), (1_250, "1.2k"), (48_000, "48k"), (3_000_000, "3M")] {
        assert_eq!(short_count(count), words);
    }
}
