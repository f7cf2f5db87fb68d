import Support
import TileIndex

/// The members of an upstream's description, with messages that name file and member.
struct UpstreamMembers {
  private let members: [JSONValue.Member]
  private let path: String

  private static let names: Set<String> = [
    "url", "format", "minzoom", "maxzoom", "bounds", "name", "attribution", "tile-pixels", "file", "file-size",
    "when-full", "metered", "connections", "timeout", "fresh", "missing-fresh", "user-agent",
    "prefetch", "rate",
  ]

  init(_ members: [JSONValue.Member], path: String) { (self.members, self.path) = (members, path) }

  func wrong(_ name: String, _ reason: String) -> ServeError {
    ServeError(.invalidOption, "\(path): \(name): \(reason)")
  }

  /// Refuses members that mean nothing: a typing error must not go unnoticed.
  func check() throws {
    for member in members where !Self.names.contains(member.name) {
      throw wrong(member.name, "is not known; there are \(Self.names.sorted().joined(separator: ", "))")
    }
  }

  private func value(_ name: String) -> JSONValue? { members.last { $0.name == name }?.value }

  func text(_ name: String) throws -> String? {
    guard let value = value(name) else { return nil }
    guard let text = value.string, !text.isEmpty, !text.utf8.contains(0) else {
      throw wrong(name, "must be a text in quotation marks")
    }
    return text
  }

  func number(_ name: String, _ range: ClosedRange<Int>) throws -> Int? {
    guard let value = value(name) else { return nil }
    guard case .number(let digits) = value, let number = Int(digits), range.contains(number) else {
      throw wrong(name, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  func flag(_ name: String) throws -> Bool? {
    guard let value = value(name) else { return nil }
    guard case .bool(let flag) = value else { throw wrong(name, "must be true or false") }
    return flag
  }

  /// Bytes, as a number or as a text such as `500MB`.
  func bytes(_ name: String, _ least: Int) throws -> Int? {
    guard let value = value(name) else { return nil }
    let text = value.string ?? { if case .number(let digits) = value { digits } else { "" } }()
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    let units = ["": 1, "B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40]
    guard let number = Int(digits), let unit = units[text.dropFirst(digits.count).uppercased()],
      case (let bytes, let overflow) = number.multipliedReportingOverflow(by: unit), !overflow, bytes >= least
    else { throw wrong(name, "must be a number of bytes such as 500MB, at least \(least >> 20)MB") }
    return bytes
  }

  /// West, south, east, north.
  func bounds(_ name: String) throws -> BoundingBox? {
    guard let value = value(name) else { return nil }
    let numbers = (value.array ?? []).compactMap { part -> Double? in
      if case .number(let digits) = part { Double(digits) } else { nil }
    }
    guard numbers.count == 4, numbers[0] < numbers[2], numbers[1] < numbers[3], abs(numbers[0]) <= 180,
      abs(numbers[2]) <= 180, abs(numbers[1]) <= 90, abs(numbers[3]) <= 90
    else { throw wrong(name, "must be [west, south, east, north] in degrees") }
    return BoundingBox(west: numbers[0], south: numbers[1], east: numbers[2], north: numbers[3])
  }
}
