/// The points of a GPX file (topografix.com/GPX/1/1): tracks, routes and waypoints.
///
/// No XML parser: the elements that count are found by name, their positions in attributes. Comments and CDATA sections are passed over.
enum GPXTrack {
  static func read(_ bytes: [UInt8], path: String) throws -> Track {
    var lines: [[SIMD2<Double>]] = []
    var line: [SIMD2<Double>] = []
    var isGPX = false
    var index = 0
    func find(_ text: StaticString, from start: Int) -> Int? {
      text.withUTF8Buffer { text in
        var place = start
        while place + text.count <= bytes.count {
          if bytes[place] == text[0], bytes[place..<place + text.count].elementsEqual(text) { return place }
          place += 1
        }
        return nil
      }
    }
    while let open = find("<", from: index) {
      let rest = bytes[open...]
      if rest.starts(with: "<!--".utf8) {
        index = find("-->", from: open).map { $0 + 3 } ?? bytes.count
        continue
      }
      if rest.starts(with: "<![CDATA[".utf8) {
        index = find("]]>", from: open).map { $0 + 3 } ?? bytes.count
        continue
      }
      guard let close = find(">", from: open) else { break }
      let tag = bytes[(open + 1)..<close]
      index = close + 1
      let isEnd = tag.first == UInt8(ascii: "/")
      let name = (isEnd ? tag.dropFirst() : tag).prefix { !isSpace($0) && $0 != UInt8(ascii: "/") }
      // A prefix names the namespace.
      let word = String(decoding: name.split(separator: UInt8(ascii: ":")).last ?? [], as: UTF8.self)
      switch word {
      case "gpx": isGPX = true
      case "trkseg", "rte":
        if !line.isEmpty { lines.append(line) }
        line = []
      case "trkpt" where !isEnd, "rtept" where !isEnd: line.append(try point(tag, path))
      case "wpt" where !isEnd: lines.append([try point(tag, path)])
      default: break
      }
    }
    if !line.isEmpty { lines.append(line) }
    guard isGPX else { throw TrackError(path: path, "is XML, but no GPX", remedy: "export the track as GPX") }
    return Track(lines: lines)
  }

  private static func point(_ tag: ArraySlice<UInt8>, _ path: String) throws -> SIMD2<Double> {
    guard let latitude = number("lat", tag), let longitude = number("lon", tag), Track.isPlace(longitude, latitude)
    else {
      throw TrackError(
        path: path, "holds a point without a position: <\(String(decoding: tag.prefix(60), as: UTF8.self))>",
        remedy: "give lat and lon in degrees")
    }
    return SIMD2(longitude, latitude)
  }

  /// The number in an attribute.
  private static func number(_ name: String, _ tag: ArraySlice<UInt8>) -> Double? {
    let wanted = Array(name.utf8)
    var place = tag.startIndex
    while let start = tag[place...].indices.first(where: { tag[$0...].starts(with: wanted) }) {
      place = start + wanted.count
      guard isSpace(tag[start - 1]) else { continue }
      var rest = tag[place...].drop(while: isSpace)
      guard rest.popFirst() == UInt8(ascii: "=") else { continue }
      rest = rest.drop(while: isSpace)
      guard let quote = rest.popFirst(), quote == 0x22 || quote == 0x27 else { continue }
      let text = rest.prefix { $0 != quote }.drop(while: isSpace)
      guard let number = Double(String(decoding: text, as: UTF8.self)), number.isFinite else { return nil }
      return number
    }
    return nil
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d }
}
