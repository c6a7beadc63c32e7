//! One metric after another, in the terms of the encoder: name, help, and rows of labels and values.

use std::fmt::Error;

use gancho_engine::Buckets;
use prometheus_client::{
    encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet},
    metrics::{MetricType, counter::ConstCounter, gauge::ConstGauge},
};

/// Labels of one row: name and value.
pub type Labels<'a> = [(&'static str, &'a str)];

pub struct Writer<'a>(DescriptorEncoder<'a>);

impl<'a> Writer<'a> {
    pub fn new(encoder: DescriptorEncoder<'a>) -> Self {
        Self(encoder)
    }

    /// Only rises, until the process starts again. The name gets `_total` behind it.
    pub fn counter<'l, R>(&mut self, name: &str, help: &str, rows: R) -> Result<(), Error>
    where
        R: IntoIterator<Item = (Vec<(&'static str, &'l str)>, u64)>,
    {
        let rows = rows.into_iter().map(|(labels, value)| (labels, ConstCounter::new(value)));
        self.rows(name, help, MetricType::Counter, rows)
    }

    pub fn gauge<'l, R>(&mut self, name: &str, help: &str, rows: R) -> Result<(), Error>
    where
        R: IntoIterator<Item = (Vec<(&'static str, &'l str)>, f64)>,
    {
        let rows = rows.into_iter().map(|(labels, value)| (labels, ConstGauge::new(value)));
        self.rows(name, help, MetricType::Gauge, rows)
    }

    pub fn histogram<'l, R>(&mut self, name: &str, help: &str, rows: R) -> Result<(), Error>
    where
        R: IntoIterator<Item = (Vec<(&'static str, &'l str)>, Buckets)>,
    {
        let mut rows = rows.into_iter().peekable();
        if rows.peek().is_none() {
            return Ok(());
        }
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Histogram)?;
        for (labels, seen) in rows {
            let labels = labels.as_slice();
            metric.encode_family(&labels)?.encode_histogram::<NoLabelSet>(
                seen.sum,
                seen.count,
                &seen.buckets,
                None,
            )?;
        }
        Ok(())
    }

    fn rows<'l, M: EncodeMetric>(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        rows: impl Iterator<Item = (Vec<(&'static str, &'l str)>, M)>,
    ) -> Result<(), Error> {
        let mut rows = rows.peekable();
        // A metric without rows is left out, as readers would stumble over its name alone.
        if rows.peek().is_none() {
            return Ok(());
        }
        let mut metric = self.0.encode_descriptor(name, help, None, kind)?;
        for (labels, value) in rows {
            let labels: &Labels<'_> = &labels;
            value.encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
