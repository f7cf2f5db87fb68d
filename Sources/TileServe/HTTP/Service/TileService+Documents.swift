import Dispatch
import ServerSupport
import Support
import Synchronization
import TileIndex

extension TileService {
  /// Answers requests whose path is not a tile's usual one.
  func plan(_ target: RequestTarget, _ context: RequestContext) throws -> Plan {
    let path = target.segments
    switch path.count {
    case 1:
      switch path[0] {
      case "": return page(.index, context) { self.indexPage($0) }
      case "health": return .reply(context.writer(.health).document(Array("ok\n".utf8), mediaType: Self.plainText))
      case "ready": return .reply(ready(context))
      case "metrics":
        return .reply(
          context.writer(.metrics).document(
            Array(metrics.document(registry, prefetcher).utf8), mediaType: MetricsText.mediaType))
      case "tilesets.json": return page(.tilesets, context) { self.tilesetList($0) }
      case "wmts": return wmts(target, nil, context)
      case "favicon.ico":
        return .reply(
          context.writer(.asset).reply(204, fields: ""))
      default: return try tilesetDocument(path[0], context)
      }
    case 2 where path[0] == "wmts" && path[1] == "": return wmts(target, nil, context)
    case 2 where path[0] == "tms" && path[1] == "1.0.0",
      3 where path[0] == "tms" && path[1] == "1.0.0" && path[2] == "":
      return page(.tms, context) { context in
        context.writer(.tms).document(
          TMSDocument.service(self.infos(), at: self.address(context)), mediaType: Self.xml)
      }
    case 2 where path[1] == "": return try viewer(path[0], context)
    case 2 where path[1] == "places": return try places(path[0], target, context)
    case 2 where path[1] == "wmts", 3 where path[1] == "wmts" && path[2] == "": return wmts(target, path[0], context)
    case 2 where path[1] == "WMTSCapabilities.xml": return capabilities(try layers(path[0]), context)
    case 2... where path[0] == "_assets": return try asset(path.dropFirst().joined(separator: "/"), context)
    case 3 where path[0] == "wmts" && path[1] == "1.0.0" && path[2] == "WMTSCapabilities.xml":
      return capabilities(nil, context)
    case 3 where path[0] == "tms" && path[1] == "1.0.0",
      4 where path[0] == "tms" && path[1] == "1.0.0" && path[3] == "":
      let layers = try layers(path[2])
      return page(.tms, lane: lane(of: layers), context) { context in
        guard let document = try TMSDocument.tileMap(self.info(of: layers), at: self.address(context)) else {
          throw ServeError(.unknownTileset, "TMS has no words for vector tiles, nor for the grid of this tileset")
        }
        return context.writer(.tms).document(document, mediaType: Self.xml)
      }
    case 4 where path[0] == "wmts" && path[1] == "1.0.0" && path[3] == "WMTSCapabilities.xml":
      return capabilities(try layers(path[2]), context)
    case 4:
      return plan(try TileAddress(id: path[0], zoom: path[1], column: path[2], lastSegment: path[3]), .tile, context)
    case 6 where path[0] == "tms" && path[1] == "1.0.0":
      var address = try TileAddress(id: path[2], zoom: path[3], column: path[4], lastSegment: path[5])
      address.isTMS = true
      return plan(address, .tms, context)
    case 8 where path[0] == "wmts" && path[1] == "1.0.0":
      // layer, style, tile matrix set, tile matrix, row, column.ext: the row comes before the column.
      try Self.checkStyle(path[3])
      var address = try TileAddress(id: path[2], zoom: path[5], column: path[6], lastSegment: path[7])
      swap(&address.row, &address.column)
      address.matrixSet = path[4]
      return plan(address, .wmts, context)
    default: break
    }
    throw ServeError(.unknownTileset, "nothing is here", remedy: "/ lists what there is")
  }

  static var plainText: String { "text/plain; charset=utf-8" }
  static var xml: String { "text/xml; charset=utf-8" }
  static var json: String { "application/json" }

  /// A plan for documents that may open bundles.
  func page(
    _ route: RouteName, lane: WorkPool.Lane? = nil, _ context: RequestContext,
    _ make: @escaping @Sendable (RequestContext) throws -> EncodedResponse
  ) -> Plan {
    .work(lane ?? documentLane) {
      do {
        return try make(context)
      } catch {
        return self.failure(error, route, context)
      }
    }
  }

  /// The threads for a document of some tilesets: those of the first that has to be opened for it.
  private func lane(of layers: [Tileset]) -> WorkPool.Lane {
    layers.first { $0.knownInfo == nil }?.lane ?? documentLane
  }

  /// The descriptions of all readable tilesets. Those that are not known are opened by the threads of their lanes; no
  /// page waits longer than a second for a bundle that does not come, nor for one that another page waits for.
  func infos() -> [TilesetInfo] {
    let tilesets = registry.tilesets
    let opening = DispatchGroup()
    for tileset in tilesets where tileset.knownInfo == nil {
      guard tileset.isBeingOpened.compareExchange(expected: false, desired: true, ordering: .relaxed).exchanged else {
        continue
      }
      opening.enter()
      let end: @Sendable () -> Void = {
        tileset.isBeingOpened.store(false, ordering: .relaxed)
        opening.leave()
      }
      let accepted = registry.work.submit(tileset.lane) {
        _ = try? self.info(tileset)
        end()
      }
      if !accepted { end() }
    }
    var left = tilesets.count { $0.isBeingOpened.load(ordering: .relaxed) }
    while opening.wait(timeout: .now() + 1) == .timedOut {
      let now = tilesets.count { $0.isBeingOpened.load(ordering: .relaxed) }
      guard now < left else { break }
      left = now
    }
    return tilesets.compactMap(\.knownInfo)
  }

  /// The description of a tileset or composite.
  func info(of layers: [Tileset]) throws -> TilesetInfo {
    let infos = try drawnTogether(layers).map { try info($0) }
    guard infos.count > 1, var whole = infos.last else { return infos[0] }
    try LayerStack.checkFit(infos)
    whole.id = infos.map(\.id).joined(separator: ",")
    whole.name = infos.map(\.name).joined(separator: " + ")
    whole.zooms = infos.map(\.zooms.lowerBound).min()!...infos.map(\.zooms.upperBound).max()!
    whole.bounds = infos.map(\.bounds).reduce(whole.bounds) { $0.union($1) }
    whole.tilePixels = infos.map(\.tilePixels).max()!
    whole.modified = infos.map(\.modified).max()!
    whole.hasPlaces = infos.contains(where: \.hasPlaces)
    let scale = infos.max { $0.tilePixels < $1.tilePixels }!.metadata.tileScale
    whole.metadata = Self.crediting(infos.map(\.metadata), scale: scale)
    return whole
  }

  /// The topmost layer's metadata, with the credits of all layers: each must be attributed.
  ///
  /// - Parameter scale: stored pixels for each of the screen, those of the largest tiles: smaller ones are enlarged.
  private static func crediting(_ layers: [StoredMetadata], scale: Int) -> StoredMetadata {
    var credits: [String] = []
    for credit in layers.compactMap(\.attribution) where !credit.isEmpty && !credits.contains(credit) {
      credits.append(credit)
    }
    // The encoding of a layer's pixels does not apply to a composite.
    var entries = layers[layers.count - 1].entries.filter { $0.name != "attribution" && !TileJSON.isExtra($0.name) }
    if scale > 1 { entries.append(.init(name: TileSizeRow.scale, value: "\(scale)")) }
    if !credits.isEmpty { entries.append(.init(name: "attribution", value: credits.joined(separator: " | "))) }
    return StoredMetadata(entries)
  }

  private func ready(_ context: RequestContext) -> EncodedResponse {
    let writer = context.writer(.ready)
    guard !isLeaving.load(ordering: .relaxed) else { return writer.failure(503, "shutting down", fields: Self.retry) }
    return writer.document(Array("ready\n".utf8), mediaType: Self.plainText)
  }

  private func indexPage(_ context: RequestContext) -> EncodedResponse {
    let infos = infos()
    return context.writer(.index).document(
      IndexPage.document(infos, failures: failures(but: infos), libraries: libraries, at: address(context)),
      mediaType: "text/html; charset=utf-8", fields: Self.pageFields)
  }

  private func tilesetList(_ context: RequestContext) -> EncodedResponse {
    let infos = infos()
    return context.writer(.tilesets).document(
      TilesetList.document(
        infos, failures: failures(but: infos), at: address(context), warning: options.text),
      mediaType: Self.json)
  }

  /// What cannot be served, and what is not known yet.
  ///
  /// - Parameter infos: of the tilesets that are known.
  private func failures(but infos: [TilesetInfo]) -> [(id: String, reason: String)] {
    registry.noteQuarantines()
    let failures = registry.failures
    let known = Set(infos.map(\.id))
    let unknown = registry.tilesets.map(\.id).filter { !known.contains($0) && failures[$0] == nil }
    return
      (failures.map { (id: $0.key.split(separator: "/").last.map(String.init) ?? $0.key, reason: $0.value) }
      + unknown.map { (id: $0, reason: "is still being opened") })
      .sorted { $0.id < $1.id }
  }

  private func tilesetDocument(_ name: String, _ context: RequestContext) throws -> Plan {
    if name.hasSuffix(".json"), let layers = try known(String(name.dropLast(5))) {
      if layers.count == 1, let known = known(layers[0])?.knownTileJSON(at: address(context)) {
        return .reply(context.writer(.tilejson).document(known, mediaType: Self.json))
      }
      return page(.tilejson, lane: lane(of: layers), context) { context in
        if layers.count == 1 {
          return try context.writer(.tilejson).document(
            self.serve(layers[0]).tileJSON(at: self.address(context)), mediaType: Self.json)
        }
        return try context.writer(.tilejson).document(
          TileJSON.document(self.info(of: layers), at: self.address(context)), mediaType: Self.json)
      }
    }
    return try viewer(name, context)
  }

  /// The layers of an id; nil if there is no such tileset. Throws for one that exists but cannot be read.
  private func known(_ id: String) throws -> [Tileset]? {
    do {
      return try layers(id)
    } catch let error as ServeError where error.code == .unknownTileset { return nil }
  }

  private func viewer(_ id: String, _ context: RequestContext) throws -> Plan {
    let layers = try layers(id)
    return page(.viewer, lane: lane(of: layers), context) { context in
      let others = self.registry.tilesets.compactMap(\.knownInfo).filter { $0.id != id }
      return try context.writer(.viewer).document(
        ViewerPage.document(
          self.info(of: layers), others: others, libraries: self.libraries, at: self.address(context)),
        mediaType: "text/html; charset=utf-8", fields: Self.pageFields)
    }
  }

  private func asset(_ name: String, _ context: RequestContext) throws -> Plan {
    if let own = ViewerAssets.asset(named: name) {
      return .reply(context.writer(.asset).document(own.bytes, mediaType: own.mediaType))
    }
    guard let asset = libraries.asset(named: name) else {
      throw ServeError(.unknownTileset, "there is no such file for the viewer")
    }
    return page(.asset, context) { context in
      let bytes: [UInt8]
      do throws(FileSystem.SystemError) {
        bytes = try FileSystem.bytes(of: asset.path, countMax: 16 << 20)
      } catch {
        throw ServeError(
          .unavailable, "the viewer's library cannot be read: \(error)", remedy: error.openingRemedy)
      }
      return context.writer(.asset).document(bytes, mediaType: asset.mediaType)
    }
  }

  /// The pages load nothing from other servers.
  private static var pageFields: String {
    "Content-Security-Policy: \(HTMLPage.contentSecurityPolicy)\r\nReferrer-Policy: same-origin\r\n"
  }
}

/// The search for places: `/{id}/places?q=&near=&limit=`.
extension TileService {
  func places(_ id: String, _ target: RequestTarget, _ context: RequestContext) throws -> Plan {
    let layers = try layers(id)
    let query = try Self.placeQuery(target.query)
    return page(.places, lane: layers[0].lane, context) { context in
      // Searches all layers of a composite.
      let found = try layers.compactMap { try $0.source.places(query) }
      guard !found.isEmpty else { throw ServeError(.unknownTileset, "the tileset \(id) has no places") }
      let matches = found.count == 1 ? found[0] : query.best(of: found.flatMap { $0.map(\.place) })
      return context.writer(.places).document(
        PlacesDocument.document(matches), mediaType: "application/geo+json")
    }
  }

  /// - Throws: ``ServeError`` with `.badRequest`.
  private static func placeQuery(_ query: [String: String]) throws -> PlaceQuery {
    guard let text = query["q"] else { throw ServeError(.badRequest, "q, what to look for, is missing") }
    var near: PlaceQuery.Coordinate?
    if let word = query["near"], !word.isEmpty {
      let numbers = word.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
      guard numbers.count == 2, let longitude = numbers[0], let latitude = numbers[1],
        let coordinate = PlaceQuery.Coordinate(longitude: longitude, latitude: latitude)
      else { throw ServeError(.badRequest, "near is not longitude,latitude in degrees") }
      near = coordinate
    }
    var limit = PlaceQuery.limitDefault
    if let word = query["limit"], !word.isEmpty {
      guard let number = Int(word), (1...PlaceQuery.limitMax).contains(number) else {
        throw ServeError(.badRequest, "limit is not a number from 1 to \(PlaceQuery.limitMax)")
      }
      limit = number
    }
    return PlaceQuery(text, near: near, limit: limit)
  }
}
