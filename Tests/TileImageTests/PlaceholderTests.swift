import Testing
@testable import TileImage
