/// Fields that let pages of other origins read our answers (Fetch standard, CORS protocol).
enum CrossOriginFields {
  /// For every response.
  static func fields(_ policy: TileServerOptions.CrossOrigin, _ facts: RequestFacts) -> String {
    switch policy {
    case .any: return "Access-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: ETag\r\n"
    case .off: return ""
    case .origins(let origins):
      // Caches must keep the answers for different origins apart, even that for none.
      guard let origin = facts.origin, origins.contains(origin) else { return "Vary: Origin\r\n" }
      return "Access-Control-Allow-Origin: \(origin)\r\nAccess-Control-Expose-Headers: ETag\r\nVary: Origin\r\n"
    }
  }

  /// More for the answer to a preflight.
  static func preflight(_ policy: TileServerOptions.CrossOrigin, _ facts: RequestFacts) -> String {
    guard facts.isPreflight, policy != .off else { return "" }
    if case .origins(let origins) = policy, !origins.contains(facts.origin ?? "") { return "" }
    var fields = """
      Access-Control-Allow-Methods: GET, HEAD, OPTIONS\r\n\
      Access-Control-Allow-Headers: *, Range, If-None-Match, If-Modified-Since\r\n\
      Access-Control-Max-Age: 86400\r\n
      """
    // A page on the Internet that wants to reach a server on this machine asks for this first.
    if facts.asksPrivateNetwork { fields += "Access-Control-Allow-Private-Network: true\r\n" }
    return fields
  }
}
