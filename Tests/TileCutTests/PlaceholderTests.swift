import Testing
@testable import TileCut
