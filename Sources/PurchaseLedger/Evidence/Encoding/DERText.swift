import Support

/// Certificates and keys as people have them.
package enum DERText {
  /// DER out of DER, PEM or bare base64; nil when it is none of them.
  package static func decode(_ bytes: [UInt8]) -> [UInt8]? {
    if bytes.first == 0x30 { return bytes }
    var lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
    if let start = lines.firstIndex(where: { $0.hasPrefix("-----BEGIN ") }) {
      lines = Array(lines[(start + 1)...].prefix { !$0.hasPrefix("-----END ") })
    }
    guard let der = Base64.decode(lines.joined().utf8, skippingSpace: true), der.first == 0x30 else { return nil }
    return der
  }
}
