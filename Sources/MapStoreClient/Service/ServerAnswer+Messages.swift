import MapStoreWire
import RegionCatalog
import TileIndex

// The checks of each message. Booleans and enumerations are checked by their types.

extension AccountDetails: ServerAnswer {
  func check() throws {
    try AnswerRule.code(id, "id")
    try AnswerRule.code(appAccountToken, "appAccountToken")
  }
}

extension SessionDetails: ServerAnswer {
  func check() throws {
    // It is sent in a header field of each request.
    try AnswerRule.code(token, "token", bytesMax: 4_096)
    try AnswerRule.time(expiresAt, "expiresAt")
    try AnswerRule.within("account", account)
    try AnswerRule.deviceToken(deviceToken)
  }
}

// MARK: Catalogue

extension CatalogPage: ServerAnswer {
  func check() throws {
    try AnswerRule.each(regions, "regions", by: \.id)
    try AnswerRule.count(total, "total")
    try AnswerRule.each(categories, "categories")
    try AnswerRule.text(nextCursor, "nextCursor")
  }
}

extension CategoryCount: ServerAnswer {
  func check() throws {
    try AnswerRule.text(category, "category")
    try AnswerRule.count(regions, "regions")
  }
}

extension RegionListing: ServerAnswer {
  func check() throws {
    try AnswerRule.name(id, "id")
    try AnswerRule.code(productId, "productId")
    for (text, place) in [
      (title, "title"), (category, "category"), (priceTier, "priceTier"), (attribution, "attribution"),
    ] { try AnswerRule.text(text, place) }
    try AnswerRule.text(description, "description", keepingLines: true)
    try AnswerRule.box(bounds, "bounds")
    try AnswerRule.within("boundary", boundary)
    try AnswerRule.zooms((minzoom, maxzoom), "maxzoom")
    try AnswerRule.name(edition, "edition")
    try AnswerRule.size(bytes, "bytes")
    try AnswerRule.count(packs, "packs")
    try AnswerRule.url(preview, "preview", of: "https:")
    try AnswerRule.box(previewBounds, "previewBounds")
    try AnswerRule.within("near", near)
    try AnswerRule.each(places, "places")
  }
}

extension RegionBoundary: ServerAnswer {
  func check() throws {
    for ring in polygons.joined() {
      guard ring.count >= 4 else { throw AnswerFault("coordinates", "have a ring of less than 4 positions") }
      for position in ring { try AnswerRule.position(position.x, position.y, "coordinates") }
    }
  }
}

extension FoundNear: ServerAnswer {
  func check() throws {
    try AnswerRule.count(distanceMetres, "distanceMetres")
    try AnswerRule.each(packs, "packs", by: \.file)
  }
}

extension FoundTilePack: ServerAnswer {
  func check() throws {
    try AnswerRule.file(file, "file")
    try AnswerRule.size(bytes, "bytes")
  }
}

extension FoundPlace: ServerAnswer {
  func check() throws {
    try AnswerRule.text(name, "name")
    try AnswerRule.text(kind, "kind")
    try AnswerRule.position(longitude, latitude, "longitude")
  }
}

extension RegionDetails: ServerAnswer {
  func check() throws { try AnswerRule.within("region", region) }
}

extension Catalog.Region: ServerAnswer {
  func check() throws {
    if let fault { throw AnswerFault("", fault.drop { $0 == "." || $0 == " " }.description) }
    try AnswerRule.name(id, "id")
    try AnswerRule.code(productId, "productId")
    for product in formerProductIds ?? [] { try AnswerRule.code(product, "formerProductIds") }
    for (text, place) in [
      (title, "title"), (category, "category"), (priceTier, "priceTier"), (attribution, "attribution"),
      (matrixSet.identifier, "tileMatrixSet"), (matrixSet.uri, "tileMatrixSet"),
    ] { try AnswerRule.text(text, place) }
    try AnswerRule.text(description, "description", keepingLines: true)
    try AnswerRule.within("", Catalog.File(file: file, bytes: bytes, sha256: sha256))
    try AnswerRule.count(tileCount, "tileCount")
    try AnswerRule.tilesHash(tilesHash, "tilesHash")
    try AnswerRule.name(edition, "edition")
    try AnswerRule.within("preview", preview)
    try AnswerRule.each(packs, "packs", by: \.file)
    try AnswerRule.each(patches, "patches", by: \.file)
  }
}

extension Catalog.File: ServerAnswer {
  func check() throws {
    try AnswerRule.file(file, "file")
    try AnswerRule.size(bytes, "bytes")
    try AnswerRule.sha256(sha256, "sha256")
  }
}

extension Catalog.TilePack: ServerAnswer {
  func check() throws {
    try AnswerRule.within("", Catalog.File(file: file, bytes: bytes, sha256: sha256))
    // It is installed under this name, beside whole regions.
    guard file.hasSuffix(".mbtiles") else { throw AnswerFault("file", "does not end with .mbtiles") }
    try AnswerRule.box(bounds, "bounds")
    try AnswerRule.zooms((minzoom, maxzoom), "maxzoom")
    try AnswerRule.count(tileCount, "tileCount")
  }
}

extension Catalog.Patch: ServerAnswer {
  func check() throws {
    try AnswerRule.name(fromEdition, "fromEdition")
    try AnswerRule.tilesHash(fromTilesHash, "fromTilesHash")
    try AnswerRule.within("", Catalog.File(file: file, bytes: bytes, sha256: sha256))
  }
}

// MARK: Library and purchases

extension Library: ServerAnswer {
  func check() throws { try AnswerRule.each(regions, "regions", by: \.id) }
}

extension LibraryRegion: ServerAnswer {
  func check() throws {
    try AnswerRule.name(id, "id")
    try AnswerRule.code(productId, "productId")
    try AnswerRule.text(title, "title")
    try AnswerRule.name(edition, "edition")
    try AnswerRule.size(bytes, "bytes")
    for id in formerIds ?? [] { try AnswerRule.name(id, "formerIds") }
    try AnswerRule.name(installedEdition, "installedEdition")
    try AnswerRule.size(patchBytes, "patchBytes")
  }
}

extension PurchaseResults: ServerAnswer {
  func check() throws { try AnswerRule.each(results, "results") }
}

extension PurchaseResult: ServerAnswer {
  func check() throws {
    try AnswerRule.code(reason, "reason")
    try AnswerRule.text(detail, "detail")
    try AnswerRule.code(environment, "environment")
    try AnswerRule.each(items, "items")
  }
}

extension PurchaseItem: ServerAnswer {
  func check() throws {
    try AnswerRule.code(transactionId, "transactionId", bytesMax: 4_096)
    try AnswerRule.code(productId, "productId")
    try AnswerRule.name(regionId, "regionId")
    try AnswerRule.code(reason, "reason")
  }
}

// MARK: Files and grants

extension DownloadTicket: ServerAnswer {
  func check() throws {
    // StoreClient.ticket(_:) checks the scheme against the server's.
    try AnswerRule.url(url, "url", of: "")
    try AnswerRule.time(expiresAt, "expiresAt")
    try AnswerRule.name(regionId, "regionId")
    try AnswerRule.name(edition, "edition")
    try AnswerRule.within("", Catalog.File(file: file, bytes: bytes, sha256: sha256))
  }
}

extension SignedGrants: ServerAnswer {
  func check() throws {
    try AnswerRule.base64URL(payload, "payload")
    try AnswerRule.base64URL(signature, "signature")
    try AnswerRule.code(keyId, "keyId")
  }
}

extension GrantDocument: ServerAnswer {
  func check() throws {
    try AnswerRule.code(accountId, "accountId")
    try AnswerRule.time(issuedAt, "issuedAt")
    try AnswerRule.time(expiresAt, "expiresAt")
    try AnswerRule.each(grants, "grants")
  }
}

extension RegionGrant: ServerAnswer {
  func check() throws {
    try AnswerRule.name(regionId, "regionId")
    try AnswerRule.code(productId, "productId")
    try AnswerRule.time(since, "since")
    if let until { try AnswerRule.time(until, "until") }
  }
}

extension GrantKeys: ServerAnswer {
  func check() throws { try AnswerRule.each(keys, "keys") }
}

extension GrantKey: ServerAnswer {
  func check() throws {
    try AnswerRule.code(keyId, "keyId")
    try AnswerRule.code(algorithm, "algorithm")
    try AnswerRule.base64URL(publicKey, "publicKey")
  }
}

extension Problem: ServerAnswer {
  func check() throws {
    try AnswerRule.code(type.rawValue, "type")
    try AnswerRule.text(title, "title")
    try AnswerRule.text(detail, "detail")
    try AnswerRule.text(remedy, "remedy")
    guard (400...599).contains(status) else { throw AnswerFault("status", "is not the status of a failure") }
  }
}
