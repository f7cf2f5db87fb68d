/// The app's shared secret, which a version 1 notification carries as `password`: whoever has it may ask for receipts in our name, so it is never kept.
enum VersionOneSecret {
  /// The same JSON with asterisks in the secret's place.
  ///
  /// - Complexity: O(bytes).
  static func blanked(_ bytes: [UInt8]) -> [UInt8] {
    guard let members = try? JSONReader.members(bytes[...]) else { return bytes }
    var blanked = bytes
    for member in members where member.name == "password" {
      let isText = bytes[member.value.lowerBound] == UInt8(ascii: "\"")
      // Anything else than a text is no secret, and would be no JSON with asterisks in it.
      guard isText, member.value.count > 2 else { continue }
      for place in member.value.dropFirst().dropLast() { blanked[place] = UInt8(ascii: "*") }
    }
    return blanked
  }
}
