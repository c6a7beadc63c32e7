//! Writes metrics to the encoder: name, help, and rows of labels and values.

use std::fmt::Error;

use gancho_engine::Buckets;
use prometheus_client::{
    encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet},
    metrics::{MetricType, counter::ConstCounter, gauge::ConstGauge},
};

/// Labels of one row: name and value.
pub type Labels<'l> = Vec<(&'static str, &'l str)>;

pub struct Writer<'a>(DescriptorEncoder<'a>);

impl<'a> Writer<'a> {
    pub fn new(encoder: DescriptorEncoder<'a>) -> Self {
        Self(encoder)
    }

    /// Writes a counter. The encoder appends `_total` to the name.
    pub fn counter<'l, R>(&mut self, name: &str, help: &str, rows: R) -> Result<(), Error>
    where
        R: IntoIterator<Item = (Labels<'l>, u64)>,
    {
        let rows = rows.into_iter().map(|(labels, value)| (labels, ConstCounter::new(value)));
        self.rows(name, help, MetricType::Counter, rows)
    }

    /// Writes a counter of fractional seconds.
    pub fn seconds(&mut self, name: &str, help: &str, value: Option<f64>) -> Result<(), Error> {
        let row = value.map(|value| (Vec::new(), ConstCounter::new(value)));
        self.rows(name, help, MetricType::Counter, row.into_iter())
    }

    pub fn gauge<'l, R>(&mut self, name: &str, help: &str, rows: R) -> Result<(), Error>
    where
        R: IntoIterator<Item = (Labels<'l>, f64)>,
    {
        let rows = rows.into_iter().map(|(labels, value)| (labels, ConstGauge::new(value)));
        self.rows(name, help, MetricType::Gauge, rows)
    }

    pub fn histogram<'l, R>(&mut self, name: &str, help: &str, rows: R) -> Result<(), Error>
    where
        R: IntoIterator<Item = (Labels<'l>, Buckets)>,
    {
        let mut rows = rows.into_iter().peekable();
        if rows.peek().is_none() {
            return Ok(());
        }
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Histogram)?;
        for (labels, seen) in rows {
            let Buckets { buckets, count, sum } = &seen;
            if labels.is_empty() {
                metric.encode_histogram::<NoLabelSet>(*sum, *count, buckets, None)?;
            } else {
                let mut row = metric.encode_family(&labels)?;
                row.encode_histogram::<NoLabelSet>(*sum, *count, buckets, None)?;
            }
        }
        Ok(())
    }

    fn rows<'l, M: EncodeMetric>(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        rows: impl Iterator<Item = (Labels<'l>, M)>,
    ) -> Result<(), Error> {
        let mut rows = rows.peekable();
        // A metric without rows is left out: some parsers reject a name without samples.
        if rows.peek().is_none() {
            return Ok(());
        }
        let mut metric = self.0.encode_descriptor(name, help, None, kind)?;
        for (labels, value) in rows {
            // A metric without labels has one row.
            if labels.is_empty() {
                return value.encode(metric);
            }
            value.encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
