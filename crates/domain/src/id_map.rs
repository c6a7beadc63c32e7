//! Hash maps by id.

use std::collections::HashMap;

/// For keys that callers do not choose, as ids and numbers. Its hash takes a fifth of the time of the standard
/// library's, which several look-ups for each delivery add up to.
pub type IdMap<K, V> = HashMap<K, V, foldhash::fast::RandomState>;
