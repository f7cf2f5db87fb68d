import Testing
@testable import TileIndex
