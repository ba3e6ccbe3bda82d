//! What the fuzz targets hold the product against: second opinions, written from the pages that
//! describe the formats and not from the product's code.

pub mod frame;
pub mod json;
pub mod payload;
