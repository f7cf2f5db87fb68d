import LibC

/// A client's IP address, as limits and lists of proxies compare it.
package struct ClientAddress: Hashable, Sendable {
  /// The canonical text. IPv4-mapped IPv6 (`::ffff:192.0.2.1`, RFC 4291, section 2.5.5.2) is IPv4.
  package let text: String
  /// What one customer has: an IPv4 address, or the first 64 bits of an IPv6 address, in which a device can have any
  /// number of addresses.
  package let network: String

  package static func isAddress(_ text: String) -> Bool {
    var address = in_addr()
    return inet_pton(AF_INET, text, &address) == 1 || isIPv6(text)
  }

  static func isIPv6(_ text: String) -> Bool {
    var address = in6_addr()
    return inet_pton(AF_INET6, text, &address) == 1
  }

  /// An address as proxies write it, with or without a port: `203.0.113.7:51234`, `[2001:db8::1]:443`, `[2001:db8::1]`.
  package init(forwarded text: String) {
    if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
      self.init(String(text[text.index(after: text.startIndex)..<end]))
    } else if let colon = text.firstIndex(of: ":"), colon == text.lastIndex(of: ":") {
      // More than one colon is IPv6 without brackets, which has no port.
      self.init(String(text[..<colon]))
    } else {
      self.init(text)
    }
  }

  /// The client by `X-Forwarded-For`. Each proxy appends the address that it sees, so the client is the last address
  /// that is no proxy; a client can claim anything before it. Nil where all are proxies.
  package static func client(forwarded field: String, isProxy: (ClientAddress) -> Bool) -> ClientAddress? {
    for text in field.split(separator: ",").reversed() {
      let address = ClientAddress(forwarded: text.filter { $0 != " " && $0 != "\t" })
      if !isProxy(address) { return address }
    }
    return nil
  }

  /// - Parameter text: used as it is where it is no IPv6 address.
  package init(_ text: String) {
    var address = in6_addr()
    guard inet_pton(AF_INET6, String(text.prefix { $0 != "%" }), &address) == 1 else {
      (self.text, network) = (text, text)
      return
    }
    let bytes = withUnsafeBytes(of: address) { Array($0) }
    if bytes.prefix(10).allSatisfy({ $0 == 0 }), bytes[10] == 0xff, bytes[11] == 0xff {
      self.text = bytes.suffix(4).map { String($0) }.joined(separator: ".")
      network = self.text
    } else {
      var name = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
      _ = inet_ntop(AF_INET6, &address, &name, socklen_t(name.count))
      self.text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      let digits = bytes.prefix(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
      network = digits.joined() + "/64"
    }
  }
}
