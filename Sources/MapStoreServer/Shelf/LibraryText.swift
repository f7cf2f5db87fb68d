import MapStoreWire
import RegionCatalog
import TileIndex

/// Writes libraries. Most of a library is the same for everybody, so each region's text is made once and only what differs is put between.
struct LibraryText: Sendable {
  /// Of one region: `{"id":…,"productId":…,"status":"` and `","isForSale":…,"edition":…,"bytes":…`.
  private let parts: [(head: String, tail: String)]

  init(_ regions: [Catalogue.Region], isForSale: [Bool]) {
    parts = zip(regions, isForSale).map { region, isForSale in
      let item = LibraryRegion(
        id: region.id, productId: region.productId, status: .forSale, isForSale: isForSale, edition: region.edition,
        bytes: region.bytes)
      // Texts and numbers always encode.
      let text = String(decoding: (try? WireJSON.encode(item)) ?? [], as: UTF8.self)
      let mark = "\"status\":\"\(LibraryStatus.forSale.rawValue)"
      // Ids cannot hold the mark: their quotation marks are escaped.
      guard let range = text.firstRange(of: mark) else { preconditionFailure("a region without a status") }
      return (
        String(text[..<range.lowerBound]) + "\"status\":\"", String(text[range.upperBound...].dropLast())
      )
    }
  }

  /// The document of `Library`.
  func document(_ entries: [LibraryEntry]) -> [UInt8] {
    var text = "{\"regions\":["
    text.reserveCapacity(entries.count * 200)
    for (position, entry) in entries.enumerated() {
      if position > 0 { text += "," }
      let part = parts[entry.region]
      text += part.head
      text += entry.status.rawValue
      text += part.tail
      if let edition = entry.installedEdition {
        text += ",\"installedEdition\":"
        text += String(decoding: (try? WireJSON.encode(edition)) ?? [], as: UTF8.self)
      }
      if let bytes = entry.patchBytes { text += ",\"patchBytes\":\(bytes)" }
      text += "}"
    }
    return Array((text + "]}").utf8)
  }
}
