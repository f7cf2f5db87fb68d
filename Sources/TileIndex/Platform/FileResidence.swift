import CSystemShim

/// Whether a file's bytes are in the system's memory.
package enum FileResidence {
  /// False also where the system does not say.
  package static func isResident(_ descriptor: Int32, _ piece: FilePiece) -> Bool {
    csystem_is_resident(descriptor, piece.offset, Int64(piece.count)) == 1
  }
}
