import Foundation
import TestSupport
import Testing

/// Damaged files give an error, or a valid bundle with a warning: never a crash, a hang or excessive memory.
@Suite(.ownThread, .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)))
struct MalformedInputTests {
  static let malformed = files("maps/malformed") { _ in true }
  /// PngSuite's broken files begin with x.
  static let brokenPNGs = files("maps/pngsuite") { $0.hasPrefix("x") }

  /// A release build ends within 2 s; a debug build is slower, and shares the machine with other tests.
  static let secondsMax = 10.0
  static let peakBytesMax = 300_000_000

  @Test(arguments: malformed + brokenPNGs)
  func malformedRastersPlacedByOptionsDoNotCrash(_ file: String) throws {
    try expectCivilEnd(of: file, "--crs", "EPSG:4326", "--bounds", "-10,-10,10,10")
  }

  /// With the file's own georeference, if it has one.
  @Test(arguments: malformed)
  func malformedRastersDoNotCrash(_ file: String) throws {
    try expectCivilEnd(of: file)
  }

  private func expectCivilEnd(of file: String, _ options: String...) throws {
    let folder = try TemporaryFolder()
    let path = TestData.url(file).path
    let output = folder.file("out.mbtiles")
    let run = try Command(built: "tilecut").run(["cut", path, "-o", output] + options)
    #expect(run.seconds < Self.secondsMax, "\(run)")
    #expect(run.peakBytes > 0 && run.peakBytes < Self.peakBytesMax, "\(run)")
    if run.status == 0 {
      #expect(folder.names == ["out.mbtiles"])
      #expect(run.stderrLines.contains { $0.hasPrefix("tilecut: warning: \(path): ") }, "\(run)")
      try expectValid(output)
    } else {
      expectRefusal(run, status: 65, naming: path)
      #expect(folder.names == [], "\(run)")
    }
  }

  private static func files(_ folder: String, where include: (String) -> Bool) -> [String] {
    guard let root = TestData.root else { return [] }
    let names = (try? FileManager.default.contentsOfDirectory(atPath: root.appendingPathComponent(folder).path)) ?? []
    return names.filter(include).sorted().map { "\(folder)/\($0)" }
  }

  @Test func malformedTestFilesExist() {
    #expect(Self.malformed.count >= 30 && Self.brokenPNGs.count >= 14)
  }
}
