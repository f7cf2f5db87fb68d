import LibC
import Support

/// An open file that has to stay as it was when it was opened, so that all that is read of it is of one edition.
///
/// 1. Its signature is taken at opening, when it is older than the steps in which the file system counts time.
/// 2. Bytes are copied into memory of this process.
/// 3. ``check()`` takes the signature again. A write sets it before it changes a byte, so if it is the same, the copy
///    has no byte of a later write.
///
/// No lock, no lease and no notification is needed, only that the system tells the true state of a file. On a network
/// drive it does so when the file is opened (close-to-open consistency), hence ``check()`` opens it again there.
final class UnchangedFile {
  let signature: FileSystem.Status
  private let descriptor: Int32
  private let path: String
  private let isLocal: Bool

  /// - Parameters:
  ///   - descriptor: of the open file; must stay open as long as this object is used.
  ///   - path: the file's name.
  ///   - isLocal: nil to ask the system.
  /// - Throws: ``BundleError`` with `.busy` for a file that changes all the time.
  init(_ descriptor: Int32, path: String, isLocal: Bool? = nil) throws {
    (self.descriptor, self.path) = (descriptor, path)
    let isLocal = isLocal ?? FileSystem.isLocal(descriptor)
    self.isLocal = isLocal
    signature = try Self.settledSignature(descriptor, path, isLocal: isLocal)
  }

  /// - Throws: ``BundleError`` with `.changed`.
  func check() throws {
    let now = try? isLocal ? FileSystem.status(of: descriptor) : ReadOnlyFile(path).status()
    guard let now, now.showsSameBytes(as: signature) else {
      ChangingFiles.note(signature, now, path, isLocal: isLocal)
      throw BundleError.changed(path)
    }
  }

  /// Waits until two writes could not look like one any more.
  private static func settledSignature(
    _ descriptor: Int32, _ path: String, isLocal: Bool
  ) throws -> FileSystem.Status {
    for _ in 0..<pausesMax {
      guard let seen = try? FileSystem.status(of: descriptor) else { break }
      if isLocal, seen.isSettled { return seen }
      // A clock that was set back, or that of another machine, says nothing.
      let age = isLocal ? min(max(seen.age, 0), seen.stepSeconds) : 0
      usleep(useconds_t((seen.stepSeconds - age) * 1e6) + 1000)
      let isSettled = !isLocal || seen.isSettled || seen.age < 0
      if isSettled, (try? FileSystem.status(of: descriptor)) == seen { return seen }
    }
    throw BundleError.beingWritten(path)
  }

  private static let pausesMax = 4
}
