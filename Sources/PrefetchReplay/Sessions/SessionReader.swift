import Support
import TileIndex

/// Reads sessions: one JSON object per line, `meta` first.
package enum SessionReader {
  /// - Parameter name: the session's name.
  /// - Throws: ``ReplayError/Code/malformedSession``, naming the line.
  package static func read(_ bytes: [UInt8], name: String, file: String) throws -> RecordedSession {
    var session = RecordedSession(name: name, source: "", gestures: [])
    var hasMeta = false
    for (index, line) in bytes.split(separator: 0x0a, omittingEmptySubsequences: false).enumerated() {
      if line.allSatisfy({ $0 == 0x20 || $0 == 0x0d || $0 == 0x09 }) { continue }
      let value: JSONValue
      do {
        value = try JSONValue(parsing: Array(line))
      } catch {
        throw ReplayError(
          .malformedSession, path: file, "line \(index + 1) is not JSON: \(error)",
          remedy: "write one JSON object a line")
      }
      if let meta = value["meta"], !hasMeta {
        session.source = meta["src"]?.string ?? ""
        hasMeta = true
        continue
      }
      let fields = GestureFields(value: value, file: file, line: index + 1)
      let gesture = try fields.gesture()
      if let last = session.gestures.last, gesture.time < last.time {
        throw ReplayError(
          .malformedSession, path: file, "line \(index + 1): t goes back",
          remedy: "put the gestures in the order of their times")
      }
      session.gestures.append(gesture)
    }
    guard case .start = session.gestures.first?.kind else {
      throw ReplayError(.malformedSession, path: file, "the first gesture must be start or startS")
    }
    return session
  }
}

/// The fields of one line.
private struct GestureFields {
  let value: JSONValue
  let file: String
  let line: Int

  func gesture() throws -> MapGesture {
    guard let op = value["op"]?.string else { throw malformed("has no \"op\"") }
    let kind: MapGesture.Kind
    switch op {
    case "start": kind = .start(try world(), zoom: try zoom())
    case "startS": kind = .start(try screens(), zoom: try zoom())
    case "panS": kind = .panTo(try screens())
    case "zoomS": kind = .zoomTo(try screens(), zoom: try zoom())
    case "pan": kind = .pan(dx: try number("dx"), dy: try number("dy"), fling: try fling())
    case "zoom": kind = .zoom(try world(), zoom: try zoom(), isAnimated: value["kind"]?.string == "dbl")
    case "jump": kind = .jump(try world(), zoom: try zoom())
    case "follow": kind = .follow(try fixes(), zoom: try zoom())
    default: throw malformed("has the unknown op \"\(op)\"")
    }
    let duration = value.member("dur") == nil ? 0 : try number("dur", in: 0...86_400)
    return MapGesture(kind: kind, time: try number("t", in: 0...1e7), duration: duration)
  }

  private func world() throws -> MapGesture.Place {
    .world(x: try number("x", in: -1...2), y: try number("y", in: -1...2))
  }

  private func screens() throws -> MapGesture.Place {
    .screens(x: try number("X", in: -1e4...1e4), y: try number("Y", in: -1e4...1e4))
  }

  private func zoom() throws -> Double { try number("z", in: 0...28) }

  private func fling() throws -> MapGesture.Fling? {
    guard let flag = value["fling"], flag != .number("0"), flag != .bool(false), flag != .null else { return nil }
    return MapGesture.Fling(
      dx: try number("fdx"), dy: try number("fdy"), duration: try number("frun", in: 0...60))
  }

  private func fixes() throws -> [MapGesture.Fix] {
    guard let points = value["pts"]?.array, !points.isEmpty else { throw malformed("has no \"pts\"") }
    var fixes: [MapGesture.Fix] = []
    for point in points {
      let numbers = (point.array ?? []).map { number($0) ?? .nan }
      guard numbers.count == 3, numbers.allSatisfy(\.isFinite), abs(numbers[1]) <= 2, abs(numbers[2]) <= 2,
        numbers[0] >= (fixes.last?.time ?? 0), numbers[0] <= 1e6
      else { throw malformed("has a point that is not [seconds, x, y] in the order of time") }
      fixes.append(MapGesture.Fix(time: numbers[0], x: numbers[1], y: numbers[2]))
    }
    return fixes
  }

  private func number(_ value: JSONValue) -> Double? {
    guard case .number(let text) = value else { return nil }
    return Double(text)
  }

  private func number(_ name: String, in range: ClosedRange<Double> = -1e3...1e3) throws -> Double {
    guard let value = value[name], let number = number(value) else { throw malformed("has no number \"\(name)\"") }
    guard range.contains(number) else { throw malformed("has \(name) = \(number), which is out of range") }
    return number
  }

  private func malformed(_ what: String) -> ReplayError {
    ReplayError(
      .malformedSession, path: file, "line \(line) \(what)", remedy: "docs/explanation/prefetch.md describes the format"
    )
  }
}

extension RecordedSession {
  /// Reads session files, and all `.jsonl` files of folders in the order of their names.
  ///
  /// - Throws: ``ReplayError``: `missingInput`, `malformedSession`.
  package static func read(_ paths: [String]) throws -> [RecordedSession] {
    var sessions: [RecordedSession] = []
    for path in paths {
      guard let status = try? FileSystem.status(path) else {
        throw ReplayError(
          .missingInput, path: path, "there is no such file or folder", remedy: "check the name")
      }
      guard status.kind == .folder else {
        sessions.append(try read(file: path))
        continue
      }
      let files = FileSystem.names(in: path).filter { $0.hasSuffix(".jsonl") }.sorted()
      guard !files.isEmpty else {
        throw ReplayError(
          .missingInput, path: path, "the folder has no .jsonl files, which hold sessions, or cannot be read")
      }
      for file in files { sessions.append(try read(file: "\(path)/\(file)")) }
    }
    return sessions
  }

  private static func read(file path: String) throws -> RecordedSession {
    guard let bytes = try? FileSystem.bytes(of: path, countMax: .max) else {
      throw ReplayError(.missingInput, path: path, "the file cannot be read", remedy: "check its permissions")
    }
    return try SessionReader.read(bytes, name: FileSystem.stem(path), file: path)
  }
}
