import Foundation
import Support

/// Reads fields of Apple's JSON within the rules; a field that breaks them is named.
struct AppleFields {
  let json: JSONValue

  init(_ json: JSONValue) { self.json = json }

  func identifier(_ name: String) throws(Refusal) -> String {
    guard let id = try optionalIdentifier(name) else { throw Refusal(.incomplete, "\(name) is missing") }
    return id
  }

  /// Text, or a number where Apple documents text: both spell one id. Empty text is none.
  func optionalIdentifier(_ name: String) throws(Refusal) -> String? {
    guard let value = json[name] else { return nil }
    guard let text = value.identifier else { throw Refusal(.malformed, "\(name) is neither text nor a whole number") }
    return text.isEmpty ? nil : try FieldRules.identifier(text, name)
  }

  /// A word of Apple's, kept as it is.
  func word(_ name: String) throws(Refusal) -> String? {
    guard let value = json[name] else { return nil }
    guard let text = value.identifier else { throw Refusal(.malformed, "\(name) is neither text nor a whole number") }
    return text.isEmpty ? nil : try FieldRules.text(text, name)
  }

  func date(_ name: String) throws(Refusal) -> Int64? {
    guard let value = json[name], !value.isEmptyText else { return nil }
    guard let milliseconds = value.integer else {
      throw Refusal(.dateOutOfRange, "\(name) is no date in milliseconds")
    }
    return try FieldRules.date(milliseconds, name)
  }

  func integer(_ name: String) throws(Refusal) -> Int64? {
    guard let value = json[name], !value.isEmptyText else { return nil }
    guard let integer = value.integer else { throw Refusal(.malformed, "\(name) is not a whole number") }
    return integer
  }

  /// How many were bought; one where Apple does not say it.
  func quantity(_ name: String) throws(Refusal) -> Int64 {
    let quantity = try integer(name) ?? 1
    guard (0...1_000_000_000).contains(quantity) else { throw Refusal(.malformed, "\(name) is \(quantity)") }
    return quantity
  }

  /// Apps may give only a UUID; another text names no account of ours.
  func accountToken(_ name: String) -> AccountToken? { json[name]?.string.flatMap { AccountToken($0) } }
}
