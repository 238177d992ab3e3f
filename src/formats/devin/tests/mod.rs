//! Tests of the sessions of Devin, over databases made by hand and over the samples.

mod actions;
mod build;
mod damage;
mod files;
mod happenings;
mod samples;
mod shapes;
