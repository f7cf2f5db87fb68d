/// What makes one account's library of a shelf differ from another's.
struct LibraryQuestion: ReplyQuestion {
  /// Several grants of one product: the best counts.
  enum Standing: Int, Comparable, Sendable {
    case revoked, pending, owned

    static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
  }

  /// By position on the shelf; of the regions that the account has to do with.
  var standing: [Int: Standing]
  /// Editions by region id, as the device told.
  var installed: [String: String]

  var byteCount: Int {
    // Tables are never full.
    installed.reduce(32 * standing.count) { $0 + 128 + $1.key.utf8.count + $1.value.utf8.count }
  }
}
