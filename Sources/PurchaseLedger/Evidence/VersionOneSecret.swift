import Support

/// The app's shared secret, which a version 1 notification carries as `password`: whoever has it may ask for receipts in our name, so it is never kept.
enum VersionOneSecret {
  /// The same JSON with asterisks in the secret's place, at whatever depth it stands.
  ///
  /// - Complexity: O(bytes).
  static func blanked(_ bytes: [UInt8]) -> [UInt8] {
    guard let places = try? JSONReader.places(of: "password", in: bytes) else { return bytes }
    var blanked = bytes
    for place in places {
      // Anything else than a text is no secret, and would be no JSON with asterisks in it.
      guard bytes[place.lowerBound] == UInt8(ascii: "\""), place.count > 2 else { continue }
      for index in place.dropFirst().dropLast() { blanked[index] = UInt8(ascii: "*") }
    }
    return blanked
  }
}
