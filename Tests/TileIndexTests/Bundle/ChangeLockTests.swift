import Foundation
import LibC
import Synchronization
import TestSupport
import Testing

@testable import Support
@testable import TileIndex

/// Of changes of one bundle at the same time none is lost.
@Suite(.ownThread) struct ChangeLockTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func bundle(_ name: String) throws -> String {
    let source = try folder.writeBundle("source.mbtiles", zooms: 0...3)
    if name != "source.mbtiles" { try BundleConvert().write(BundleFile.open(source), to: folder.file(name)) }
    return folder.file(name)
  }

  /// Under the file's own name and that of a link to it. On a machine with other work one may wait in vain; it says so.
  @Test(arguments: ["source.mbtiles", "a.pmtiles", "a.gpkg", "a"])
  func changesAtTheSameTimeAreAllKept(name: String) throws {
    let path = try bundle(name == "a" ? "a/" : name).withoutSlashes
    try FileManager.default.createSymbolicLink(atPath: folder.file("link"), withDestinationPath: path)
    let kept = Mutex<Set<Int>>([])
    let (own, link) = (path, folder.file("link"))
    DispatchQueue.concurrentPerform(iterations: 12) { number in
      do {
        try MetadataEdit(name: "k\(number)", value: "v").apply(to: number % 2 == 0 ? own : link)
        kept.withLock { _ = $0.insert(number) }
      } catch { #expect((error as? BundleError)?.code == .busy, "\(error)") }
    }
    let metadata = try BundleFile.open(path).metadata
    let found = Set((0..<12).filter { metadata["k\($0)"] == "v" })
    #expect(found == kept.withLock { $0 } && found.count > 1)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == path)
    #expect(!folder.names.contains { $0.hasPrefix(".") })
  }

  /// A change that ends is waited for, and one that goes on is not; what a killed process left is no lock.
  @Test func aChangeWaitsForAnotherOneForSomeSeconds() throws {
    let path = try bundle("source.mbtiles")
    let lock = try folder.write(".source.mbtiles.lock", bytes: [])
    try MetadataEdit(name: "a", value: "1").apply(to: path)
    #expect(!folder.names.contains(".source.mbtiles.lock"))
    try folder.write(".source.mbtiles.lock", bytes: [])
    let descriptor = open(lock, O_RDWR | O_CLOEXEC)
    #expect(flock(descriptor, LOCK_EX) == 0)
    let error = #expect(throws: BundleError.self) { try MetadataEdit(name: "b", value: "1").apply(to: path) }
    #expect(error?.code == .busy && error?.path == path && error?.remedy != nil)
    close(descriptor)
    try MetadataEdit(name: "b", value: "1").apply(to: path)
    let metadata = try BundleFile.open(path).metadata
    #expect(metadata["a"] == "1" && metadata["b"] == "1")
  }

  /// Somebody's file that has the lock's name stays.
  @Test func aFileWithContentsIsNotRemoved() throws {
    let path = try bundle("source.mbtiles")
    try folder.write(".source.mbtiles.lock", "mine")
    try MetadataEdit(name: "a", value: "1").apply(to: path)
    #expect(try folder.bytes(".source.mbtiles.lock") == Data("mine".utf8))
  }

  /// An edition that is published while a row is set would be replaced by the old one with that row.
  @Test func publishingWaitsForAChangeInPlace() throws {
    let path = try bundle("source.mbtiles")
    let new = try folder.writeBundle("new.mbtiles", zooms: 0...1, seed: 5)
    let before = try folder.bytes("source.mbtiles")
    let published = DispatchSemaphore(value: 0)
    try ChangeLock.changing(path) { _ in
      Thread.detachNewThread {
        _ = try? BundleConvert().write(BundleFile.open(new), to: path, replacing: true)
        published.signal()
      }
      #expect(published.wait(timeout: .now() + 0.5) == .timedOut)
      #expect(try folder.bytes("source.mbtiles") == before)
      // The change itself publishes.
      try BundleConvert().write(BundleFile.open(new), to: path, replacing: true)
    }
    published.wait()
    #expect(try TilesHash.of(BundleFile.open(path)) == TilesHash.of(BundleFile.open(new)))
    #expect(folder.names == ["new.mbtiles", "source.mbtiles"])
  }

  /// Two patches for one base: the second finds another bundle, and does not bring the old one back.
  @Test func ofTwoPatchesInPlaceOneIsApplied() throws {
    let base = try bundle("source.mbtiles")
    let patches = try (1...2).map { seed in
      let new = try folder.writeBundle("new\(seed).mbtiles", zooms: 0...3, seed: seed)
      let patch = folder.file("\(seed).patch")
      _ = try BundlePatch.diff(old: base, new: new, output: patch)
      return patch
    }
    let codes = Mutex<[BundleError.Code?]>([])
    DispatchQueue.concurrentPerform(iterations: 2) { number in
      var code: BundleError.Code?
      do {
        try BundlePatch.apply(patches[number], to: base, output: base, replacing: true)
      } catch { code = (error as? BundleError)?.code ?? .busy }
      codes.withLock { $0.append(code) }
    }
    let found = codes.withLock { $0 }
    #expect(found.contains(nil) && found.contains(.mismatch), "\(found)")
  }

  @Test func aMissingBundleIsTheErrorOfTheChange() throws {
    let error = #expect(throws: BundleError.self) {
      try MetadataEdit(name: "a", value: "1").apply(to: folder.file("none/a.mbtiles"))
    }
    #expect(error?.code == .notFound && folder.names.isEmpty)
  }
}
