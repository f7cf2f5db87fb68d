import Support
import SwiftASN1

/// A set of receipt attributes: `SET OF SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }`.
struct ReceiptAttributes {
  private var values: [Int64: ArraySlice<UInt8>] = [:]
  /// The in-app purchases (attribute 17), which may be many.
  private(set) var inApp: [ArraySlice<UInt8>] = []

  /// - Complexity: O(bytes).
  init(_ bytes: ArraySlice<UInt8>) throws(Refusal) {
    do {
      for attribute in try BER.parse(bytes).fields(.set, atLeast: 0) {
        let fields = try attribute.fields(.sequence, atLeast: 3)
        let type = try Int64(derEncoded: fields[0])
        let value = try ASN1OctetString(berEncoded: fields[2]).bytes
        if type == 17 { inApp.append(value) } else if values[type] == nil { values[type] = value }
      }
    } catch let refusal as Refusal { throw refusal } catch {
      throw Refusal(.malformed, "the receipt's attributes are broken")
    }
  }

  func raw(_ type: Int64) -> ArraySlice<UInt8>? { values[type] }

  /// A text (UTF8String or IA5String); nil where it is missing or empty.
  func text(_ type: Int64, _ name: String) throws(Refusal) -> String? {
    guard let node = try node(type, name) else { return nil }
    guard node.identifier == .utf8String || node.identifier == .ia5String, case .primitive(let bytes) = node.content,
      let text = String(validating: bytes, as: UTF8.self)
    else { throw Refusal(.malformed, "\(name) (attribute \(type)) is no text") }
    return text.isEmpty ? nil : try FieldRules.text(text, name)
  }

  func identifier(_ type: Int64, _ name: String) throws(Refusal) -> String? {
    guard let text = try text(type, name) else { return nil }
    return try FieldRules.identifier(text, name)
  }

  func integer(_ type: Int64, _ name: String) throws(Refusal) -> Int64? {
    guard let node = try node(type, name) else { return nil }
    guard let value = try? Int64(derEncoded: node) else {
      throw Refusal(.malformed, "\(name) (attribute \(type)) is no whole number of 64 bits")
    }
    return value
  }

  /// Milliseconds since 1970. Apple writes an empty text where there is no date: that is none.
  ///
  /// - Throws: also `inconsistent`, for a day that does not exist.
  func date(_ type: Int64, _ name: String) throws(Refusal) -> Int64? {
    guard let text = try text(type, name) else { return nil }
    guard let date = RFC3339.milliseconds(text) else {
      if RFC3339.milliseconds(text, mayNotExist: true) != nil {
        throw Refusal(.inconsistent, "\(name) (attribute \(type)) is a day that does not exist: \(text)")
      }
      throw Refusal(.dateOutOfRange, "\(name) (attribute \(type)) is no date of RFC 3339")
    }
    return try FieldRules.date(date, name)
  }

  private func node(_ type: Int64, _ name: String) throws(Refusal) -> ASN1Node? {
    guard let value = values[type], !value.isEmpty else { return nil }
    do { return try BER.parse(value) } catch {
      throw Refusal(.malformed, "\(name) (attribute \(type)) is broken")
    }
  }
}
