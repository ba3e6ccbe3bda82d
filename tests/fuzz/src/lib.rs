//! Independent readers that the fuzz targets compare the product with. They are written from the pages that describe
//! the formats; the product's code was no source.

pub mod frame;
pub mod json;
pub mod payload;
