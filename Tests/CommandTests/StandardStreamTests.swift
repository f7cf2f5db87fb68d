import Foundation
import TestSupport
import Testing

/// Standard streams that are closed, full or without a reader do not disturb a cut.
@Suite(.ownThread) struct StandardStreamTests {
  let folder: TemporaryFolder
  let picture: String

  init() throws {
    folder = try TemporaryFolder()
    picture = try folder.writePlacedPicture()
  }

  /// Runs a line of shell in which `"$@"` is a cut that shows its progress.
  private func shell(_ line: String, output: String) throws -> CommandRun {
    try Command(path: "/bin/sh").run([
      "-c", line, "sh", Command(built: "tilecut").path, "cut", picture, "-o", folder.file(output), "--zoom", "0-1",
      "--name", "same",
      "--progress", "json",
    ])
  }

  @Test(
    .enabled(if: FileManager.default.fileExists(atPath: "/dev/full"), "there is no /dev/full"),
    arguments: [
      #"exec "$@" 2>/dev/full"#, #"exec "$@" 2>&-"#, #"exec "$@" <&- >&- 2>&-"#,
      #"{ "$@"; echo $? > status; } 2>&1 >/dev/null | true"#,
    ])
  func closedStandardStreamsDoNotChangeTheBundle(_ line: String) throws {
    #expect(try shell(#"exec "$@""#, output: "plain.mbtiles").status == 0)
    let run = try shell(line.replacing("> status", with: "> '\(folder.file("status"))'"), output: "out.mbtiles")
    #expect(run.status == 0, "\(run)")
    if line.contains("status") { #expect(try folder.bytes("status") == Data("0\n".utf8)) }
    #expect(try folder.bytes("out.mbtiles") == folder.bytes("plain.mbtiles"))
    #expect(!folder.names.contains { $0.hasSuffix(".partial") })
  }

  /// Output that could not be written is a failure.
  @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full"), "there is no /dev/full"))
  func unwritableStandardOutputIsAFailure() throws {
    #expect(try shell(#"exec "$@""#, output: "out.mbtiles").status == 0)
    let run = try Command(path: "/bin/sh").run([
      "-c", "exec \"$0\" inspect \"$1\" > /dev/full", Command(built: "tilecut").path, folder.file("out.mbtiles"),
    ])
    #expect(run.status == 74, "\(run)")
  }
}
