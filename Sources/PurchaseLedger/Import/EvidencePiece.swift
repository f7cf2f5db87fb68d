/// One piece of evidence of a file, as it stands there: what a line holds, or the whole file.
package struct EvidencePiece: Sendable {
  /// The file's name as it was given.
  package var source: String
  /// From 1.
  package var line: Int
  package var bytes: [UInt8]
  /// Longer than anything that would be looked at; `bytes` is empty.
  package var isTooLarge: Bool
}
