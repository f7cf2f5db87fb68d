package import Support

/// The proxies that a server believes what they say of their clients' connections: those in the list of the operator.
package struct TrustedProxies: Hashable, Sendable {
  private let addresses: Set<String>
  private let hasThisMachine: Bool

  /// - Parameter hasThisMachine: whether the list begins with this machine: loopback addresses, and Unix sockets.
  package init(_ addresses: some Sequence<String>, hasThisMachine: Bool = false) {
    self.addresses = Set(addresses.map { ClientAddress($0).text })
    self.hasThisMachine = hasThisMachine
  }

  /// - Parameter peer: nil for a Unix socket.
  package func contains(_ peer: ClientAddress?) -> Bool {
    guard let peer else { return hasThisMachine }
    return hasThisMachine && Self.isLoopback(peer) || addresses.contains(peer.text)
  }

  package static func isLoopback(_ address: ClientAddress) -> Bool {
    address.text.hasPrefix("127.") || address.text == "::1"
  }

  /// The client of a request that came from a trusted proxy: the last address that one of them has seen. Nil where they
  /// name none: what is no address is nothing to count by.
  package func client(of fields: some HeaderFields) -> ClientAddress? {
    guard let field = fields.forwardedFor,
      let client = ClientAddress.client(forwarded: field, isProxy: contains), ClientAddress.isAddress(client.text)
    else { return nil }
    return client
  }
}

/// The header fields of a request.
package protocol HeaderFields {
  /// The values of a field, in their order, by its name in lower case.
  func values(_ name: StaticString) -> [String]
}

/// What proxies say of a client's connection. Believed of ``TrustedProxies`` alone.
extension HeaderFields {
  package var forwardedProto: String? { values("x-forwarded-proto").first ?? forwarded?.proto }
  package var forwardedHost: String? { values("x-forwarded-host").first ?? forwarded?.host }
  package var forwardedPort: String? { values("x-forwarded-port").first }
  package var forwardedPrefix: String? { values("x-forwarded-prefix").first }
  /// Addresses, the one that the first proxy saw first.
  package var forwardedFor: String? { list("x-forwarded-for") ?? forwarded?.addresses }

  /// Of a proxy that sends this field and none of the older ones: what a client claims in it does not count beside what
  /// a proxy says in those.
  private var forwarded: ForwardedField? {
    guard ["x-forwarded-proto", "x-forwarded-host", "x-forwarded-for"].allSatisfy({ values($0).isEmpty }) else {
      return nil
    }
    return list("forwarded").map(ForwardedField.init)
  }

  /// Several fields of one name joined to one list (RFC 9110, section 5.3).
  package func list(_ name: StaticString) -> String? {
    let values = values(name)
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }
}
