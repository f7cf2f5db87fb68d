import MapStoreWire

/// Where an account stands with one region of the shelf.
struct LibraryEntry: Hashable, Sendable {
  /// Position on the shelf.
  var region: Int
  var status: LibraryStatus
  var installedEdition: String?
  var patchBytes: Int?
}
