import TileIndex

/// OGC WMTS 1.0.0 (07-057r7): capabilities and tiles by key-value pairs. The REST binding's tiles are paths like any
/// other.
extension TileService {
  /// - Parameter id: the only tileset of the document; nil for all.
  func wmts(_ target: RequestTarget, _ id: String?, _ context: RequestContext) -> Plan {
    do {
      let query = target.query
      if let service = query["service"], service.uppercased() != "WMTS" {
        throw WMTSError(.invalidParameterValue, "service", "the service here is WMTS")
      }
      switch query["request"]?.lowercased() {
      case "gettile": return plan(try tileAddress(query), .wmts, context)
      case nil where query["tilematrix"] != nil || query["layer"] != nil:
        throw WMTSError(.missingParameterValue, "request", "request is missing")
      case "getcapabilities", nil: return capabilities(try id.map(layers), context)
      case "getfeatureinfo":
        throw WMTSError(.operationNotSupported, "request", "GetFeatureInfo is not offered")
      default:
        throw WMTSError(.invalidParameterValue, "request", "request must be GetCapabilities or GetTile")
      }
    } catch {
      return .reply(failure(error, .wmts, context))
    }
  }

  /// - Parameter layers: one tileset or composite; nil for all.
  func capabilities(_ layers: [Tileset]?, _ context: RequestContext) -> Plan {
    page(.wmts, context) { context in
      let infos = try layers.map { [try self.info(of: $0)] } ?? self.infos()
      if layers != nil, let only = infos.first { try Self.checkLayer(only) }
      return context.writer(.wmts).document(
        WMTSCapabilities.document(infos, at: self.address(context)), mediaType: Self.xml)
    }
  }

  /// The tile of a GetTile request (07-057r7, section 7.2). Style, format and tile matrix set are optional: there is
  /// one of each.
  private func tileAddress(_ query: [String: String]) throws -> TileAddress {
    /// - Parameter name: as in the specification; requests may use another case.
    func optional(_ name: String) -> String? { query[name.lowercased()].flatMap { $0.isEmpty ? nil : $0 } }
    func value(_ name: String) throws -> String {
      guard let value = optional(name) else {
        throw WMTSError(.missingParameterValue, name, "\(name) is missing")
      }
      return value
    }
    func number(_ name: String) throws -> Int {
      let text = try value(name)
      // Some clients send the matrix as WebMercatorQuad:5.
      let last = name == "TileMatrix" ? text.split(separator: ":").last.map(String.init) ?? text : text
      let digits = last.hasPrefix("-") ? last.dropFirst() : last[...]
      guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else {
        throw WMTSError(.invalidParameterValue, name, "\(name) is not a whole number")
      }
      guard let number = try? TileAddress.number(last, name) else {
        throw WMTSError(
          name == "TileMatrix" ? .invalidParameterValue : .tileOutOfRange, name, "\(name) is outside every grid")
      }
      return number
    }
    if let version = optional("version"), version != "1.0.0" {
      throw WMTSError(.invalidParameterValue, "version", "version can only be 1.0.0 here")
    }
    if let style = optional("Style") { try Self.checkStyle(style) }
    let id = try value("Layer")
    do {
      _ = try layers(id)
    } catch let error as ServeError where error.code != .unavailable {
      throw WMTSError(.invalidParameterValue, "Layer", "\(error)")
    }
    var address = try TileAddress(
      id: id, zoom: number("TileMatrix"), column: number("TileCol"), row: number("TileRow"))
    address.matrixSet = optional("TileMatrixSet")
    if let format = optional("Format") {
      guard let known = TileFormat(lenient: format) else {
        throw WMTSError(.invalidParameterValue, "Format", "no tiles of the format \(format)")
      }
      address.format = known
    }
    return address
  }

  static func checkStyle(_ style: String) throws {
    guard style != "default" else { return }
    throw WMTSError(.invalidParameterValue, "Style", "Style can only be default here")
  }

  /// Refuses tilesets that are not WMTS layers.
  private static func checkLayer(_ info: TilesetInfo) throws {
    guard !info.isWMTSLayer else { return }
    let what = info.isRaster ? "is a flat image, which lies on no grid of the Earth" : "has vector tiles"
    throw ServeError(
      .badRequest, "\(info.id) \(what), so it is no layer of WMTS: ask for its tiles by their plain URLs")
  }

  /// Refuses a tile of a tileset that is not a WMTS layer, or of another tile matrix set than the tileset's.
  func checkLayer(_ address: TileAddress, _ info: TilesetInfo, _ route: RouteName) throws {
    guard route == .wmts else { return }
    try Self.checkLayer(info)
    guard let wanted = address.matrixSet else { return }
    let own = WMTSCapabilities.matrixSetIdentifiers(of: info)
    guard
      own.contains(wanted) || wanted == info.matrixSet.uri || own.contains(WMTSCapabilities.matrixSetName(wanted))
    else {
      throw WMTSError(
        .invalidParameterValue, "TileMatrixSet", "\(info.id) has the tile matrix set \(own[0]), not \(wanted)")
    }
  }

  /// An error as WMTS clients expect it: an exception report with the HTTP status of the error.
  func exceptionReport(_ error: WMTSError, status: Int, fields: String, caching: String, _ writer: ReplyWriter)
    -> EncodedResponse
  {
    writer.document(
      OWSException.document(code: error.code.rawValue, locator: error.locator, text: error.text), status: status,
      mediaType: Self.xml, fields: fields, caching: caching)
  }
}
