import TileIndex

extension TileService {
  /// Answers for a tile: at once when it can be read without waiting and handed out as it is, otherwise by a thread that may block.
  func plan(_ address: TileAddress, _ route: RouteName, _ exchange: Exchange) -> Plan {
    if let tileset = shelf[address.id] {
      if address.scale == 1, let info = tileset.knownInfo,
        let reply = residentTile(address, tileset, info, route, exchange)
      {
        return .reply(reply)
      }
      return .work(tileset.lane) { self.tile(address, [tileset], route, exchange) }
    }
    do {
      let layers = try layers(address.id)
      return .work(layers[0].lane) { self.tile(address, layers, route, exchange) }
    } catch {
      return .reply(failure(error, route, exchange))
    }
  }

  /// The tilesets of an id, or of several joined by commas, the lowest first.
  ///
  /// - Throws: ``ServeError`` with `.unknownTileset` or `.unavailable`.
  func layers(_ id: String) throws -> [Tileset] {
    if let whole = try layer(id) { return [whole] }
    let parts = id.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    guard parts.count > 1 else { throw ServeError(.unknownTileset, "there is no tileset \(id)") }
    guard parts.count <= Self.layerCountMax else {
      throw ServeError(.badRequest, "more than \(Self.layerCountMax) layers")
    }
    return try parts.map { part in
      guard let layer = try layer(part) else { throw ServeError(.unknownTileset, "there is no tileset \(part)") }
      return layer
    }
  }

  private static var layerCountMax: Int { 8 }

  private func layer(_ id: String) throws -> Tileset? {
    let found = shelf.look(id)
    if let tileset = found.tileset { return tileset }
    if found.failure != nil { throw ServeError(.unavailable, "the tileset \(id) cannot be read now") }
    return nil
  }

  /// The reply when everything needed is in memory; nil when it takes a thread that may block.
  private func residentTile(
    _ address: TileAddress, _ tileset: Tileset, _ info: TilesetInfo, _ route: RouteName, _ exchange: Exchange
  ) -> Reply? {
    let writer = exchange.writer(route)
    do {
      try checkMatrixSet(address, info)
      let tile = try address.tile(in: info.matrixSet)
      let headline = headline(info)
      let read = try tileset.withResidentTile(tile) { bytes -> Reply? in
        guard let format = TileFormat(sniffing: bytes) ?? (info.format == .pbf ? .pbf : nil) else { return nil }
        // A bundle of mixed formats gives what it has; another format than the bundle's has to be made.
        guard address.format == nil || address.format == format || address.format == info.format else { return nil }
        return writer.needsUnpacking(bytes) ? nil : writer.tile(bytes, format: format, headline)
      }
      switch read {
      case .found(let reply): return reply
      case .wouldWait: return nil
      case .absent:
        let policy = policy(info, address)
        guard policy == .notFound || policy == .noContent else { return nil }
        // What the tileset can never have is refused, whether or not it has this tile.
        if let format = address.format, (format == .pbf) != (info.format == .pbf) { return nil }
        return missing(policy, headline, writer)
      }
    } catch {
      return failure(error, route, exchange)
    }
  }

  /// The reply of a thread that may block.
  private func tile(
    _ address: TileAddress, _ layers: [Tileset], _ route: RouteName, _ exchange: Exchange
  ) -> Reply {
    let writer = exchange.writer(route)
    do {
      let infos = try layers.map { layer in try info(layer) }
      if address.matrixSet != nil { try checkMatrixSet(address, self.info(of: layers)) }
      let policies = infos.map { policy($0, address) }
      var headline = headline(infos[infos.count - 1])
      headline.modified = infos.map(\.modified).max()!
      let answer = try resolver.answer(
        TileQuery(
          layers: layers, policies: policies, tile: address.tile(in: infos[0].matrixSet), scale: address.scale,
          format: address.format))
      switch answer {
      case .missing(let policy): return missing(policy, headline, writer)
      case .tile(let tile):
        return try tile.bytes.withUnsafeBytes { bytes in
          guard writer.needsUnpacking(bytes) else { return writer.tile(bytes, format: tile.format, headline) }
          let plain = try Self.unpacked(bytes, address)
          return plain.withUnsafeBytes { writer.unpackedTile($0, headline) }
        }
      }
    } catch {
      return failure(error, route, exchange)
    }
  }

  /// What is known of a tileset; a failure is remembered for the lists.
  func info(_ tileset: Tileset) throws -> TilesetInfo {
    if let known = tileset.knownInfo { return known }
    do {
      let info = try tileset.info()
      shelf.note(tileset, failure: nil)
      return info
    } catch {
      shelf.note(tileset, failure: TileShelf.reason(error))
      throw error
    }
  }

  private func missing(_ policy: MissingTilePolicy, _ headline: TileHeadline, _ writer: ReplyWriter) -> Reply {
    guard policy == .noContent else { return writer.failure(404, "no such tile", caching: headline.caching) }
    return writer.reply(
      204, fields: "Cache-Control: \(headline.caching)\r\n", body: UnsafeRawBufferPointer(start: nil, count: 0))
  }

  /// Vector viewers and GDAL's TMS driver take a 404 for a failure, so they get 204 unless something else was chosen.
  private func policy(_ info: TilesetInfo, _ address: TileAddress) -> MissingTilePolicy {
    settings(info.id).missing ?? options.missing ?? (info.format == .pbf || address.isTMS ? .noContent : .notFound)
  }

  private func headline(_ info: TilesetInfo) -> TileHeadline {
    TileHeadline(caching: settings(info.id).caching ?? options.caching, modified: info.modified)
  }

  private static func unpacked(_ bytes: UnsafeRawBufferPointer, _ address: TileAddress) throws -> [UInt8] {
    do {
      return try Gunzip.bytes(bytes, byteCountMax: 64 << 20)
    } catch {
      throw ServeError(
        .damagedTile, "\(address.id): tile \(address.zoom)/\(address.column)/\(address.row) is no gzip stream: \(error)"
      )
    }
  }
}
