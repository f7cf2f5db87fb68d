// Stands in for Core Graphics where that is missing: the declarations that examples/apple uses, for AppleExampleTests.

public final class CGImage {
  public let bytesPerRow = 0
  public let height = 0
}
