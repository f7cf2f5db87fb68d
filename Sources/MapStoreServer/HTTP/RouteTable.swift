import MapStoreWire

/// Finds the route of a method and path.
struct RouteTable: Sendable {
  enum Match: Sendable {
    case found(StoreRoute, parameters: [String])
    /// The path is one, but answers other methods.
    case otherMethods([String])
    case none
  }

  private struct Entry: Sendable {
    let route: StoreRoute
    let parts: [Substring]
  }

  private let entries: [Int: [Entry]]

  init(_ routes: [StoreRoute]) {
    entries = Dictionary(
      grouping: routes.map { Entry(route: $0, parts: $0.path.split(separator: "/", omittingEmptySubsequences: false)) },
      by: \.parts.count)
  }

  /// - Parameter path: as it came, percent-encoded.
  func match(method: String, path: String) -> Match {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    var others: [String] = []
    for entry in entries[parts.count] ?? [] {
      guard let parameters = Self.parameters(entry.parts, parts) else { continue }
      let answered = entry.route.method == .get && method == "HEAD" ? "GET" : method
      if entry.route.method.rawValue == answered { return .found(entry.route, parameters: parameters) }
      others.append(entry.route.method.rawValue)
      if entry.route.method == .get { others.append("HEAD") }
    }
    return others.isEmpty ? .none : .otherMethods(others)
  }

  private static func parameters(_ pattern: [Substring], _ parts: [Substring]) -> [String]? {
    var parameters: [String] = []
    for (wanted, part) in zip(pattern, parts) {
      if wanted.hasPrefix("{") {
        guard !part.isEmpty, let text = PercentDecoding.decode(part.utf8) else { return nil }
        parameters.append(text)
      } else if wanted != part {
        return nil
      }
    }
    return parameters
  }
}
