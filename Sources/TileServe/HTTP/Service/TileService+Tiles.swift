import Logging
import NIOCore
import Support
import Synchronization
import TileIndex

extension TileService {
  /// Answers for a tile: at once when it can be read without waiting and handed out as it is, otherwise by a thread that may block.
  func plan(_ address: TileAddress, _ route: RouteName, _ exchange: Exchange) -> Plan {
    if let tileset = shelf[address.id] {
      if address.scale == 1, let served = known(tileset), let reply = residentTile(address, served, route, exchange) {
        return .reply(reply)
      }
      if let reply = keptTile(address, [tileset], route, exchange) { return .reply(reply) }
      return .work(tileset.lane) { self.tile(address, [tileset], route, exchange) }
    }
    do {
      let layers = try layers(address.id)
      if let reply = keptTile(address, layers, route, exchange) { return .reply(reply) }
      // A composite with a tileset of another server waits for that one, not on the threads of disks.
      let slowest = layers.first(where: \.isRemote) ?? layers[0]
      return .work(layers.count == 1 ? slowest.lane : slowest.compositeLane) {
        self.tile(address, layers, route, exchange)
      }
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
    _ address: TileAddress, _ served: ServedTileset, _ route: RouteName, _ exchange: Exchange
  ) -> Reply? {
    let writer = exchange.writer(route)
    let stored = served.info.format
    do {
      try checkLayer(address, served.info, route)
      let tile = try address.tile(in: served.info.matrixSet)
      var reply: Reply?
      let read = try served.tileset.withResidentTile(tile) { bytes, file in
        guard let format = TileFormat(sniffing: bytes) ?? (stored == .pbf ? .pbf : nil),
          isAnswer(format, address, served), writer.unwantedPacking(bytes, format) == nil
        else { return }
        let made = writer.tile(bytes, format: format, served.headline)
        keep(made, ReplyWriter.packing(bytes, format), exchange, file)
        reply = made
      }
      guard read == .absent else { return reply }
      let policy = served.policy(address)
      guard policy == .notFound || policy == .noContent else { return nil }
      // What the tileset can never have is refused, whether or not it has this tile.
      if let format = address.format, (format == .pbf) != (stored == .pbf) { return nil }
      return missing(policy, served.headline.caching, writer)
    } catch is BundleError {
      // A thread that may wait looks whether it is the tile that is damaged, and says so.
      return nil
    } catch {
      return failure(error, route, exchange)
    }
  }

  /// True when the fields of a request do not change what a stored tile's answer is, but for gzip.
  func takesReadyReplies(_ facts: RequestFacts, isTrusted: Bool) -> Bool {
    if case .origins = options.crossOrigin { return false }
    return !facts.hasConditions && addresses.isAllowed(facts, isTrusted: isTrusted)
  }

  /// The answer for a request target that is ready; for requests that take such answers.
  func readyReply(_ target: UnsafeRawBufferPointer) -> ReadyReply? {
    readyReplies.reply(target, generation: shelf.generation)
  }

  /// More than any head of a tile has.
  private static let headBytesMax = 1024

  /// Keeps an answer for those who ask the same.
  ///
  /// - Parameter file: finds the body in the bundle's file.
  private func keep(_ reply: Reply, _ packing: Gunzip.Packing?, _ exchange: Exchange, _ file: () -> FileBody?) {
    // A connection remembers of its client whether it takes gzip; the other packing is rare.
    guard reply.status == 200, !reply.closes, exchange.facts.isPlain, packing != .deflate,
      takesReadyReplies(exchange.facts, isTrusted: exchange.circumstances.isTrusted)
    else { return }
    let target = Array(exchange.facts.target.utf8)
    // With a file only the head is kept; whether there is a place in one costs a look into the bundle.
    let isLarge = reply.bodyCount >= FileBody.bytesMin
    let stored = isLarge && readyReplies.wants(target, byteCount: Self.headBytesMax) ? file() : nil
    guard stored != nil || readyReplies.wants(target, byteCount: reply.bytes.storageCapacity) else { return }
    readyReplies.keep(
      ReadyReply(reply, file: stored, target: target, generation: exchange.generation, isGzipped: packing == .gzip))
  }

  /// A bundle of mixed formats gives what it has; another format than the bundle's has to be made.
  private func isAnswer(_ format: TileFormat, _ address: TileAddress, _ served: ServedTileset) -> Bool {
    address.format == nil || address.format == format || address.format == served.info.format
  }

  /// The reply of a thread that may block.
  private func tile(
    _ address: TileAddress, _ layers: [Tileset], _ route: RouteName, _ exchange: Exchange
  ) -> Reply {
    let writer = exchange.writer(route)
    do {
      let served = try layers.map { try serve($0) }
      let top = served[served.count - 1]
      if route == .wmts { try checkLayer(address, self.info(of: layers), route) }
      let query = try query(address, served)
      follow(query, layers, exchange)
      let answer = try resolver.answer(query)
      switch answer {
      case .missing(let policy): return missing(policy, top.headline.caching, writer)
      case .tile(let tile): return try reply(tile, served, address, writer)
      case .standIn(let tile): return try reply(tile, served, address, writer, caching: "no-store")
      }
    } catch {
      note(error, layers)
      return failure(error, route, exchange)
    }
  }

  /// Says that a tile is damaged: once for as long as its bundle is the same, since who looks at the map asks for it again and again.
  private func note(_ error: any Error, _ layers: [Tileset]) {
    guard let error = error as? ServeError, error.code == .damagedTile else { return }
    let damage = Damage(message: error.message, places: layers.map(\.place))
    let isNew = damages.withLock { $0.count < Self.damageCountMax && $0.insert(damage).inserted }
    if isNew { logger.warning("\(layers.map(\.path).joined(separator: ", ")): \(error.message)") }
  }

  /// Damaged tiles that are named; whoever has more needs no longer list to know that the disk fails.
  private static var damageCountMax: Int { 1000 }

  private func query(_ address: TileAddress, _ served: [ServedTileset]) throws -> TileQuery {
    TileQuery(
      layers: served.map(\.tileset), policies: served.map { $0.policy(address) },
      tile: try address.tile(in: served[0].info.matrixSet), scale: address.scale, format: address.format)
  }

  /// The reply with a tile that was drawn or fetched before, at once; nil where it takes a thread that may block.
  private func keptTile(
    _ address: TileAddress, _ layers: [Tileset], _ route: RouteName, _ exchange: Exchange
  ) -> Reply? {
    // What WMTS asks for is checked where the layers' facts are put together.
    guard route != .wmts else { return nil }
    let served = layers.compactMap(known)
    guard served.count == layers.count, let query = try? query(address, served), let tile = resolver.kept(query) else {
      return nil
    }
    follow(query, layers, exchange)
    return try? reply(tile, served, address, exchange.writer(route))
  }

  /// Lets the prefetcher know where a client's map is, when its tiles take time.
  private func follow(_ query: TileQuery, _ layers: [Tileset], _ exchange: Exchange) {
    guard prefetcher.mode != .off, let info = layers[0].knownInfo else { return }
    var wish = PrefetchWish(
      client: exchange.circumstances.client, layers: layers, policies: query.policies, tile: query.tile,
      scale: query.scale, format: query.format)
    guard prefetcher.mode == .on || wish.takesTime(query.tile, info) else { return }
    // Behind a proxy whose word counts, the client is who it names.
    if let address = addresses.client(exchange.facts, isTrusted: exchange.circumstances.isTrusted) {
      wish.client = address.hashValue
    }
    prefetcher.note(wish)
  }

  /// The reply with a tile.
  ///
  /// - Parameter caching: the value of Cache-Control, unless it is the tileset's.
  private func reply(
    _ tile: Tile, _ served: [ServedTileset], _ address: TileAddress, _ writer: ReplyWriter, caching: String? = nil
  ) throws -> Reply {
    let top = served[served.count - 1]
    let headline: TileHeadline
    if served.count == 1, caching == nil {
      headline = isStored(address, top) ? top.headline : top.drawnHeadline
    } else {
      // A composite is as young as its youngest layer.
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

  /// True for an answer that can only be a tile as it is stored.
  private func isStored(_ address: TileAddress, _ served: ServedTileset) -> Bool {
    let policy = served.policy(address)
    return address.scale == 1 && (address.format == nil || address.format == served.info.format)
      && (policy == .notFound || policy == .noContent)
  }

  /// What is known of a tileset; a failure is remembered for the lists.
  func info(_ tileset: Tileset) throws -> TilesetInfo {
    if let known = tileset.knownInfo { return known }
    do {
      let info = try tileset.info()
      shelf.note(tileset, failure: nil)
      return info
    } catch {
      shelf.note(tileset, failure: error)
      throw error
    }
  }

  private func missing(_ policy: MissingTilePolicy, _ caching: String, _ writer: ReplyWriter) -> Reply {
    guard policy == .noContent else {
      let reason = "no such tile"
      guard writer.route == .wmts else { return writer.failure(404, reason, caching: caching) }
      // Its standard has no other word for a tile that is in the grid and not in the tileset.
      return exceptionReport(
        WMTSError(.tileOutOfRange, nil, reason), status: 404, fields: "", caching: caching, writer)
    }
    return writer.reply(204, fields: "Cache-Control: \(caching)\r\n")
  }

  /// A tileset whose facts are at hand; nil when it was not opened yet.
  private func known(_ tileset: Tileset) -> ServedTileset? {
    guard let known = served.withLock({ $0[tileset.id] }), known.tileset === tileset,
      known.revision == tileset.revision
    else { return nil }
    return known
  }

  /// A tileset with its facts; opens it when nobody has. Blocks.
  private func serve(_ tileset: Tileset) throws -> ServedTileset {
    if let known = known(tileset) { return known }
    let new = try ServedTileset(tileset, info(tileset), options)
    served.withLock { served in
      served[tileset.id] = new
      // Those that are gone would stay for good.
      if served.count > 16, served.count > 2 * shelf.tilesets.count {
        served = served.filter { shelf[$0.key] === $0.value.tileset }
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
