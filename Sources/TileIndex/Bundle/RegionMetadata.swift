/// Rows of the metadata table by which a bundle says what it is when it has left its shelf.
package enum RegionMetadata {
  package static let regionKey = "region"
  package static let productKey = "product_id"
  package static let editionKey = "edition"
  /// Of a parcel: its number and that of all, `3/17`.
  package static let parcelKey = "parcel"
}
