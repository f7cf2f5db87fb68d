/// A tile, a quadkey, a Hilbert id or a tile matrix set that cannot exist. The message names what is out of range and what the range is.
public struct GridError: Error, CustomStringConvertible, Hashable, Sendable {
  /// The kind of failure, for programs; new kinds may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    package init(_ description: String) { self.description = description }

    /// The tile matrix set has no such zoom level.
    public static let zoomOutOfRange = Code("zoom out of range")
    /// The column lies outside the matrix of its zoom level.
    public static let columnOutOfRange = Code("column out of range")
    /// The row lies outside the matrix of its zoom level.
    public static let rowOutOfRange = Code("row out of range")
    /// The quadkey has other digits than 0 to 3, or is too long.
    public static let invalidQuadkey = Code("invalid quadkey")
    /// No tile down to the deepest zoom has this Hilbert id.
    public static let invalidHilbertID = Code("invalid Hilbert id")
    /// The levels do not fit each other.
    public static let invalidMatrixSet = Code("invalid tile matrix set")
  }

  public let code: Code
  /// What is wrong; starts in lower case.
  public let message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { message }
}
