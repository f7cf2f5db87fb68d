import TileIndex

/// OGC WMTS 1.0.0 (07-057r7): capabilities and tiles by key-value pairs. The REST binding's tiles are paths like any other.
extension TileService {
  /// - Parameter id: the only tileset that is spoken of; nil for all.
  func wmts(_ target: RequestTarget, _ id: String?, _ exchange: Exchange) throws -> Plan {
    let query = target.query
    if let service = query["service"], service.uppercased() != "WMTS" {
      return exception("InvalidParameterValue", "service", "the service here is WMTS", exchange)
    }
    switch query["request"]?.lowercased() {
    case "getcapabilities", nil: return capabilities(try id.map(layers), exchange)
    case "gettile":
      do {
        return plan(try tileAddress(query), .wmts, exchange)
      } catch let error as WMTSError {
        return exception(error.code, error.locator, error.text, exchange)
      }
    case "getfeatureinfo":
      return exception("OperationNotSupported", "request", "GetFeatureInfo is not offered", exchange, status: 501)
    default:
      return exception(
        "InvalidParameterValue", "request", "request must be GetCapabilities or GetTile", exchange)
    }
  }

  /// - Parameter layers: one tileset or composite; nil for all.
  func capabilities(_ layers: [Tileset]?, _ exchange: Exchange) -> Plan {
    page(.wmts, exchange) { exchange in
      let infos = try layers.map { [try self.info(of: $0)] } ?? self.infos()
      if layers != nil, let only = infos.first { try Self.checkLayer(only) }
      return exchange.writer(.wmts).document(
        WMTSCapabilities.document(infos, at: self.address(exchange)), mediaType: Self.xml)
    }
  }

  private struct WMTSError: Error {
    var code: String
    var locator: String
    var text: String
  }

  private func tileAddress(_ query: [String: String]) throws -> TileAddress {
    func value(_ name: String) throws -> String {
      guard let value = query[name], !value.isEmpty else {
        throw WMTSError(code: "MissingParameterValue", locator: name, text: "\(name) is missing")
      }
      return value
    }
    func number(_ name: String) throws -> Int {
      let text = try value(name)
      // Some clients write the matrix as WebMercatorQuad:5.
      let last = name == "tilematrix" ? text.split(separator: ":").last.map(String.init) ?? text : text
      guard let number = try? TileAddress.number(last, name) else {
        throw WMTSError(code: "InvalidParameterValue", locator: name, text: "\(name) is not a number from 0 up")
      }
      return number
    }
    let id = try value("layer")
    do {
      _ = try layers(id)
    } catch let error as ServeError where error.code == .unknownTileset {
      throw WMTSError(code: "InvalidParameterValue", locator: "layer", text: error.message)
    }
    var address = try TileAddress(
      id: id, zoom: number("tilematrix"), column: number("tilecol"), row: number("tilerow"))
    address.matrixSet = query["tilematrixset"].flatMap { $0.isEmpty ? nil : $0 }
    if let format = query["format"], !format.isEmpty {
      guard let known = TileFormat(lenient: format) else {
        throw WMTSError(code: "InvalidParameterValue", locator: "format", text: "no tiles of the format \(format)")
      }
      address.format = known
    }
    return address
  }

  /// Refuses what is no layer of WMTS.
  private static func checkLayer(_ info: TilesetInfo) throws {
    guard !info.isWMTSLayer else { return }
    let what = info.isRaster ? "is a flat image, which lies on no grid of the Earth" : "has vector tiles"
    throw ServeError(
      .badRequest, "\(info.id) \(what), so it is no layer of WMTS: ask for its tiles by their plain URLs")
  }

  /// Refuses a tile that WMTS does not have: of what is no layer, and of another tile matrix set than the tileset's.
  func checkLayer(_ address: TileAddress, _ info: TilesetInfo, _ route: RouteName) throws {
    guard route == .wmts else { return }
    try Self.checkLayer(info)
    guard let wanted = address.matrixSet else { return }
    let own = WMTSCapabilities.matrixSetIdentifiers(of: info)
    guard own.contains(wanted) else {
      throw ServeError(.badRequest, "\(info.id) has the tile matrix set \(own[0]), not \(wanted)")
    }
  }

  /// The report that WMTS clients expect with an error; nil for statuses that speak for themselves.
  static func exceptionReport(_ error: any Error) -> [UInt8]? {
    switch error {
    case let error as GridError: return OWSException.document(code: "TileOutOfRange", text: error.description)
    case let error as ServeError where error.code == .badRequest:
      return OWSException.document(code: "InvalidParameterValue", text: error.message)
    default: return nil
    }
  }

  private func exception(
    _ code: String, _ locator: String, _ text: String, _ exchange: Exchange, status: Int = 400
  ) -> Plan {
    .reply(
      exchange.writer(.wmts).document(
        OWSException.document(code: code, locator: locator, text: text), status: status, mediaType: Self.xml,
        caching: "no-store"))
  }
}
