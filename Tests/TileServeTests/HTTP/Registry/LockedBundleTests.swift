import Foundation
import TestSupport
import Testing

@testable import TileServe

/// Bundles that another process writes to, or has left incomplete. The other process is the sqlite3 shell.
@Suite(.ownThread, .enabled(if: Command(installed: "sqlite3") != nil, "sqlite3 is not installed"))
struct LockedBundleTests {
  let folder: TemporaryFolder
  let go: TemporaryFolder
  init() throws {
    go = try TemporaryFolder()
    folder = try TemporaryFolder()
    try folder.writeBundle("a.mbtiles", zooms: 0...1)
    try folder.writeBundle("b.mbtiles", zooms: 0...1, seed: 1)
  }

  /// A shell that runs statements, reports that, and waits until it is killed or a file `go` exists; then it rolls
  /// back.
  private func hold(_ statements: String, _ name: String = "a.mbtiles") throws -> ChildProcess {
    // The loop ends if the shell is killed.
    let pause = ".shell echo held ; while [ ! -e \(go.file("go")) ] && kill -0 $PPID 2>/dev/null ; do sleep 0.05 ; done"
    let shell = try #require(Command(installed: "sqlite3")).start([folder.file(name), statements, pause, "ROLLBACK;"])
    #expect(shell.wait(timeout: 30) { shell.stdout.contains("held") }, "\(shell.stderr)")
    return shell
  }

  private func expectUnavailable(_ served: Served) throws {
    for target in ["/a/0/0/0.png", "/a.json", "/a/", "/a/1/0/0@2x.png", "/a,b/0/0/0.png"] {
      let response = try served.get(target)
      #expect(response.status == 503 && response["Retry-After"] != nil, "\(target): \(response)")
      #expect(response["Cache-Control"] == "no-store")
    }
    #expect(try served.get("/b/0/0/0.png").status == 200)
    #expect(try served.get("/tilesets.json").text.contains(#""unavailable":[{"id":"a""#))
  }

  /// Locked before it was ever opened, with a rollback journal.
  @Test func lockedBundleIsUnavailable() async throws {
    try await serving([folder.path]) { (served) async throws in
      let shell = try hold("BEGIN EXCLUSIVE; CREATE TABLE more (x);")
      try expectUnavailable(served)
      try go.write("go", "")
      #expect(shell.wait(timeout: 30).status == 0)
      #expect(try served.get("/a/0/0/0.png").status == 200)
      #expect(try served.get("/a.json").status == 200)
      #expect(try served.get("/tilesets.json").text.contains(#""unavailable":[]"#))
    }
  }

  /// A new bundle that is locked by its writer is served when it is unlocked, although the file does not change then.
  @Test func newBundleThatIsStillLocked() async throws {
    try FileManager.default.moveItem(atPath: folder.file("a.mbtiles"), toPath: folder.file("a.later"))
    try await serving([folder.path]) { (served) async throws in
      let shell = try hold("BEGIN EXCLUSIVE; CREATE TABLE more (x);", "a.later")
      try FileManager.default.moveItem(atPath: folder.file("a.later"), toPath: folder.file("a.mbtiles"))
      // The journal's name is derived from the database's.
      if folder.names.contains("a.later-journal") {
        try FileManager.default.moveItem(
          atPath: folder.file("a.later-journal"), toPath: folder.file("a.mbtiles-journal"))
      }
      #expect(served.registry.refresh().failed["a"] != nil)
      try expectUnavailable(served)
      #expect(served.registry.refresh().isEmpty)
      try? FileManager.default.removeItem(atPath: folder.file("a.mbtiles-journal"))
      shell.send(SIGKILL)
      _ = shell.wait()
      #expect(
        try eventually {
          served.registry.refresh()
          return try served.get("/a/0/0/0.png").status == 200
        })
    }
  }

  /// With write-ahead logs readers and one writer work at the same time; the log of a killed writer is read too.
  @Test func writeAheadLogs() async throws {
    let setup = try #require(Command(installed: "sqlite3")).run([folder.file("a.mbtiles"), "PRAGMA journal_mode = WAL"])
    #expect(setup.status == 0, "\(setup)")
    try await serving([folder.path]) { (served) async throws in
      #expect(try served.get("/a/0/0/0.png").status == 200)
      let shell = try hold(
        "PRAGMA wal_autocheckpoint = 0; DELETE FROM map WHERE zoom_level = 1 AND tile_column = 0 AND tile_row = 0; "
          + "BEGIN IMMEDIATE; DELETE FROM map WHERE zoom_level = 0;")
      #expect(folder.names.contains("a.mbtiles-wal"))
      served.registry.refresh()
      // The committed deletion is visible, the uncommitted one is not.
      #expect(try served.get("/a/0/0/0.png").status == 200)
      #expect(try served.get("/a/1/0/1.png").status == 404)
      shell.send(SIGKILL)
      _ = shell.wait()
      #expect(folder.names.contains("a.mbtiles-wal"))
      served.registry.refresh()
      #expect(try served.get("/a/0/0/0.png").status == 200)
      #expect(try served.get("/a/1/0/1.png").status == 404)
      #expect(try served.get("/a/1/0/0.png").status == 200)
    }
  }

  @Test func readOnlyFolders() async throws {
    let setup = try #require(Command(installed: "sqlite3")).run([folder.file("a.mbtiles"), "PRAGMA journal_mode = WAL"])
    #expect(setup.status == 0, "\(setup)")
    let shell = try hold(
      "PRAGMA wal_autocheckpoint = 0; DELETE FROM map WHERE zoom_level = 1 AND tile_column = 0 AND tile_row = 0;")
    shell.send(SIGKILL)
    _ = shell.wait()
    // Root ignores permissions; a read-only mount is the better test where it is allowed.
    let isMounted =
      try TestSupport.run("mount", ["--bind", folder.path, folder.path])?.status == 0
      && TestSupport.run("mount", ["-o", "remount,ro,bind", folder.path])?.status == 0
    defer { if isMounted { _ = try? TestSupport.run("umount", [folder.path]) } }
    if !isMounted { try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: folder.path) }
    let before = folder.names
    try await serving([folder.path]) { (served) async throws in
      #expect(try served.get("/a/0/0/0.png").status == 200)
      #expect(try served.get("/a/1/0/1.png").status == 404)
      #expect(try served.get("/b/0/0/0.png").status == 200)
    }
    #expect(folder.names == before)
  }
}
