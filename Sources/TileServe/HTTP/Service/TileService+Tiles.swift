import Logging
import NIOCore
import Support
import Synchronization
import TileIndex

extension TileService {
  /// Answers a request for a tile: at once if it is in memory and can be sent as stored, otherwise on a thread that may
  /// block.
  func plan(_ address: TileAddress, _ route: RouteName, _ context: RequestContext) -> Plan {
    if let tileset = registry[address.id] {
      if address.scale == 1, let served = known(tileset), let plan = residentTile(address, served, route, context) {
        return plan
      }
      if let reply = keptTile(address, [tileset], route, context) { return .reply(reply) }
      return .work(tileset.lane) { try self.tile(address, [tileset], route, context) }
    }
    do {
      let layers = try layers(address.id)
      if let reply = keptTile(address, layers, route, context) { return .reply(reply) }
      // A composite with a tileset of an upstream uses the upstream's threads, not those of disks.
      let slowest = layers.slowest
      return .work(layers.count == 1 ? slowest.lane : slowest.compositeLane) {
        try self.tile(address, layers, route, context)
      }
    } catch {
      return .reply(failure(error, route, context))
    }
  }

  /// The tilesets of an id, or of several ids joined by commas, the lowest first.
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

  /// The layers with tracks drawn on the grid of the lowest other one. Opens that if necessary; blocks.
  func drawnTogether(_ layers: [Tileset]) throws -> [Tileset] {
    guard layers.contains(where: { !$0.hasOwnGrid }), let base = layers.first(where: \.hasOwnGrid) else {
      return layers
    }
    let info = try info(base)
    return layers.map { $0.drawn(over: info) }
  }

  private static var layerCountMax: Int { 8 }

  private func layer(_ id: String) throws -> Tileset? {
    let found = registry.look(id)
    if let tileset = found.tileset { return tileset }
    if found.failure != nil { throw ServeError(.unavailable, "the tileset \(id) cannot be read now") }
    return nil
  }

  /// The response if everything needed is in memory; nil if a thread that may block is needed.
  private func residentTile(
    _ address: TileAddress, _ served: ServedTileset, _ route: RouteName, _ context: RequestContext
  ) -> Plan? {
    let writer = context.writer(route)
    let stored = served.info.format
    guard let bundle = served.tileset.bundle else { return nil }
    do {
      try checkLayer(address, served.info, route)
      let tile = try address.tile(in: served.info.matrixSet)
      let read = try bundle.withResidentTile(tile) { bytes -> EncodedResponse? in
        guard let format = TileFormat(sniffing: bytes) ?? (stored == .pbf ? .pbf : nil),
          isAnswer(format, address, served), writer.unwantedPacking(bytes, format) == nil
        else { return nil }
        return writer.tile(bytes, format: format, served.headline)
      }
      switch read {
      case .found(let reply): return reply.map { .storedTile($0, served) }
      case .wouldWait: return nil
      case .absent: break
      }
      let policy = served.policy(address)
      guard policy == .notFound || policy == .noContent else { return nil }
      // A format that the tileset cannot have is an error, whether or not the tile exists.
      if let format = address.format, (format == .pbf) != (stored == .pbf) { return nil }
      return .reply(missing(policy, served.headline.caching, writer))
    } catch is BundleError {
      // A thread that may wait finds out whether the tile is damaged, and reports it.
      return nil
    } catch {
      return .reply(failure(error, route, context))
    }
  }

  /// A bundle of mixed formats serves its tiles as they are; any other format has to be rendered.
  private func isAnswer(_ format: TileFormat, _ address: TileAddress, _ served: ServedTileset) -> Bool {
    address.format == nil || address.format == format || address.format == served.info.format
  }

  /// The response, on a thread that may block.
  ///
  /// - Throws: ``ReadingSlots/Crowded``.
  private func tile(
    _ address: TileAddress, _ layers: [Tileset], _ route: RouteName, _ context: RequestContext
  ) throws -> EncodedResponse {
    do {
      return try ReadingSlots.puttingAside { try drawnTile(address, layers, route, context) }
    } catch let crowded as ReadingSlots.Crowded {
      throw crowded
    } catch {
      note(error, layers)
      return failure(error, route, context)
    }
  }

  private func drawnTile(
    _ address: TileAddress, _ layers: [Tileset], _ route: RouteName, _ context: RequestContext
  ) throws -> EncodedResponse {
    let writer = context.writer(route)
    let layers = try drawnTogether(layers)
    let served = try layers.map { try serve($0) }
    let top = served[served.count - 1]
    if route == .wmts { try checkLayer(address, self.info(of: layers), route) }
    let query = try query(address, served)
    follow(query, layers, context)
    switch try resolver.answer(query) {
    case .missing(let policy):
      let strictest = served.map { $0.tileset.source.clientCaching(missing: true) }.max { $0.rawValue < $1.rawValue }
      return missing(policy, strictest?.field ?? top.headline.caching, writer)
    case .tile(let tile): return try reply(tile, served, address, writer)
    case .standIn(let tile): return try reply(tile, served, address, writer, caching: "no-store")
    }
  }

  /// Logs that a tile or a shard cannot be read, or a tile not be drawn, once for each state of the bundle, since
  /// viewers request it again and again.
  private func note(_ error: any Error, _ layers: [Tileset]) {
    guard let error = error as? ServeError, [.damagedTile, .tooLarge, .missingShard].contains(error.code) else {
      return
    }
    let damage = Damage(message: error.message, places: layers.map(\.place))
    let isNew = damages.withLock { $0.count < Self.damageCountMax && $0.insert(damage).inserted }
    if isNew { logger.warning("\(layers.map(\.path).joined(separator: ", ")): \(error.message)") }
  }

  /// The number of damaged tiles that are logged; further ones add no information.
  private static var damageCountMax: Int { 1000 }

  private func query(_ address: TileAddress, _ served: [ServedTileset]) throws -> TileQuery {
    TileQuery(
      layers: served.map(\.tileset), policies: served.map { $0.policy(address) },
      tile: try address.tile(in: served[0].info.matrixSet), scale: address.scale, format: address.format)
  }

  /// The response with a cached tile; nil if a thread that may block is needed.
  private func keptTile(
    _ address: TileAddress, _ layers: [Tileset], _ route: RouteName, _ context: RequestContext
  ) -> EncodedResponse? {
    // The parameters of WMTS are checked with the layers' descriptions, on a thread that may block.
    guard route != .wmts, !layers.contains(where: { $0.knownInfo == nil }),
      let layers = try? drawnTogether(layers)
    else { return nil }
    let served = layers.compactMap(known)
    guard served.count == layers.count, let query = try? query(address, served), let tile = resolver.kept(query) else {
      return nil
    }
    follow(query, layers, context)
    return try? reply(tile, served, address, context.writer(route))
  }

  /// Tells the prefetcher which tile a client requests, if its tiles take time.
  private func follow(_ query: TileQuery, _ layers: [Tileset], _ context: RequestContext) {
    guard prefetcher.mode != .off, let info = layers[0].knownInfo else { return }
    var request = PrefetchRequest(
      client: context.connection.client, layers: layers, policies: query.policies, tile: query.tile,
      scale: query.scale, format: query.format)
    guard prefetcher.mode == .on || request.takesTime(query.tile, info) else { return }
    // Behind a trusted proxy the client is the address that the proxy reports.
    if let address = addresses.client(context.facts, isTrusted: context.connection.isTrusted) {
      request.client = address.hashValue
    }
    prefetcher.note(request)
  }

  /// The response with a tile.
  ///
  /// - Parameter caching: the value of Cache-Control; nil for the tileset's.
  private func reply(
    _ tile: Tile, _ served: [ServedTileset], _ address: TileAddress, _ writer: ReplyWriter, caching: String? = nil
  ) throws -> EncodedResponse {
    let top = served[served.count - 1]
    let strictest = served.map { $0.tileset.source.clientCaching() }.max { $0.rawValue < $1.rawValue }
    let caching = caching ?? strictest?.field
    let headline: TileHeadline
    if served.count == 1, caching == nil {
      headline = isStored(address, top) ? top.headline : top.drawnHeadline
    } else {
      // The date of a composite is that of its most recent layer.
      headline = TileHeadline(
        format: tile.format, caching: caching ?? top.headline.caching, modified: served.map(\.info.modified).max()!)
    }
    return try tile.bytes.withUnsafeBytes { bytes in
      guard let packing = writer.unwantedPacking(bytes, tile.format) else {
        return writer.tile(bytes, format: tile.format, headline)
      }
      let plain = try Self.unpacked(bytes, packing, address)
      return plain.withUnsafeBytes { writer.unpackedTile($0, headline) }
    }
  }

  /// True if the answer can only be a tile as stored.
  private func isStored(_ address: TileAddress, _ served: ServedTileset) -> Bool {
    let policy = served.policy(address)
    return address.scale == 1 && (address.format == nil || address.format == served.info.format)
      && (policy == .notFound || policy == .noContent)
  }

  /// The description of a tileset; a failure is noted for the lists.
  func info(_ tileset: Tileset) throws -> TilesetInfo {
    if let known = tileset.knownInfo { return known }
    do {
      let info = try tileset.info()
      registry.note(tileset, failure: nil)
      return info
    } catch  where error is CancellationError || error is ReadingSlots.Crowded {
      throw error
    } catch {
      registry.note(tileset, failure: error)
      throw error
    }
  }

  private func missing(_ policy: MissingTilePolicy, _ caching: String, _ writer: ReplyWriter) -> EncodedResponse {
    guard policy == .noContent else {
      let reason = "no such tile"
      guard writer.route == .wmts else { return writer.failure(404, reason, caching: caching) }
      // WMTS has no other code for a tile that is in the grid but not in the tileset.
      return exceptionReport(
        WMTSError(.tileOutOfRange, nil, reason), status: 404, fields: "", caching: caching, writer)
    }
    return writer.reply(204, fields: "Cache-Control: \(caching)\r\n")
  }

  /// A tileset whose description is known; nil if it was not opened yet.
  func known(_ tileset: Tileset) -> ServedTileset? {
    guard let known = served.withLock({ $0[ObjectIdentifier(tileset)] }), known.revision == tileset.revision
    else { return nil }
    return known
  }

  /// A tileset with its description; opens it if necessary. Blocks.
  func serve(_ tileset: Tileset) throws -> ServedTileset {
    if let known = known(tileset) { return known }
    let revision = tileset.revision
    let new = try ServedTileset(tileset, info(tileset), revision, options)
    served.withLock { served in
      served[ObjectIdentifier(tileset)] = new
      // Removed tilesets would never be released.
      if served.count > 16, served.count > 2 * registry.tilesets.count {
        served = served.filter { !$0.value.tileset.isRetired }
      }
    }
    return new
  }

  private static func unpacked(
    _ bytes: UnsafeRawBufferPointer, _ packing: Gunzip.Packing, _ address: TileAddress
  ) throws -> [UInt8] {
    do {
      return try Gunzip.bytes(bytes, byteCountMax: 64 << 20, packing: packing)
    } catch {
      let tile = "\(address.zoom)/\(address.column)/\(address.row)"
      throw ServeError(.damagedTile, "\(address.id): tile \(tile) cannot be unpacked (\(packing)): \(error)")
    }
  }
}
