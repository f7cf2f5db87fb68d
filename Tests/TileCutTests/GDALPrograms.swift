import Foundation
import TestSupport
import TileCut

/// GDAL's programs make files that the fixtures cannot, and are compared with.
enum GDALPrograms {
  static let arePresent = (try? run("gdal_translate", ["--version"])) ?? nil != nil
  static let skipMessage = "gdal_translate is not installed (apt-get install gdal-bin)"

  /// Runs a program that must succeed.
  static func make(_ program: String, _ arguments: String...) throws {
    let result = try run(program, ["-q"] + arguments)
    guard let result, result.status == 0 else {
      throw CutError(.badSource, "\(program) failed: \(result?.output ?? "not installed")")
    }
  }
}
