import LibC
import Synchronization

/// Locks a folder for one object of one process. The system releases the lock when the process ends, however it does.
package final class FolderLock: Sendable {
  private let descriptor: Int32
  private let file: FileIdentity?

  /// How many objects of this process hold the lock of a file.
  private static let held = Mutex<[FileIdentity: Int]>([:])
  private let isCounted = Mutex(false)

  /// Whether an object of this process holds the lock of a file.
  package static func isHeldHere(_ path: String) -> Bool { isHeld(FileIdentity(path: path)) }

  private static func isHeld(_ file: FileIdentity?) -> Bool {
    guard let file else { return false }
    return held.withLock { $0[file] != nil }
  }

  /// Locks a folder by a file in it. Blocks the calling thread while it waits.
  ///
  /// - Parameters:
  ///   - path: the file; created if missing, and never removed.
  ///   - sharing: whether others that share may hold it too.
  /// - Returns: nil when another process has held the lock for two seconds, or another object of this one for half
  ///   a second.
  /// - Throws: `FileSystem.SystemError`.
  package convenience init?(_ path: String, sharing: Bool = false) throws {
    try self.init(opening: path, O_CREAT | O_RDWR)
    // A process that is being killed, or a child between fork and exec, still holds the lock for a moment. So does an
    // object of this process whose last user is a task that is just ending.
    for attempt in 0..<Self.attempts(inSeconds: 2) {
      if try take(sharing ? LOCK_SH : LOCK_EX) { return }
      if attempt >= Self.attemptsHere, Self.isHeld(file) { break }
      Self.pause()
    }
    return nil
  }

  /// Locks a file, which is created if missing, or a folder itself. Blocks the calling thread while it waits.
  ///
  /// - Parameter deadline: when to give up; nil waits as long as it takes.
  /// - Returns: nil at the deadline.
  /// - Throws: `FileSystem.SystemError`.
  package convenience init?(_ path: String, isFolder: Bool = false, until deadline: ContinuousClock.Instant?) throws {
    // Whoever may write in the folder may take up a lock that another user left.
    try self.init(opening: path, isFolder ? O_RDONLY : O_CREAT | O_RDWR, mode: 0o666)
    while try !take() {
      if let deadline, ContinuousClock.now >= deadline { return nil }
      Self.pause()
    }
  }

  /// Locks a folder itself, which leaves no file in it.
  ///
  /// - Returns: nil when another process, or another object of this one, has held the lock for five seconds.
  /// - Throws: `FileSystem.SystemError`; `CancellationError`.
  package convenience init?(folder: String) async throws {
    try self.init(opening: folder, O_RDONLY)
    for _ in 0..<Self.attempts(inSeconds: 5) {
      if try take() { return }
      try await Task.sleep(for: .milliseconds(Self.pauseMilliseconds))
    }
    return nil
  }

  /// False when the locked file has been removed since, so that others lock another one of its name.
  package func isOf(_ path: String) -> Bool { file != nil && FileIdentity(path: path) == file }

  /// Waits until it is worth to try again.
  package static func pause() { usleep(UInt32(pauseMilliseconds) * 1000) }

  private static let pauseMilliseconds = 20
  private static let attemptsHere = 25
  private static func attempts(inSeconds seconds: Int) -> Int { seconds * 1000 / pauseMilliseconds }

  private init(opening path: String, _ flags: Int32, mode: mode_t = 0o644) throws {
    descriptor = open(path, flags | O_CLOEXEC, mode)
    file = descriptor >= 0 ? FileIdentity(descriptor: descriptor) : nil
    guard descriptor >= 0 else { throw FileSystem.SystemError(number: errno) }
  }

  /// False when somebody else holds the lock.
  private func take(_ kind: Int32 = LOCK_EX) throws -> Bool {
    while flock(descriptor, kind | LOCK_NB) != 0 {
      if errno == EWOULDBLOCK { return false }
      guard errno == EINTR else { throw FileSystem.SystemError(number: errno) }
    }
    if let file {
      Self.held.withLock { $0[file, default: 0] += 1 }
      isCounted.withLock { $0 = true }
    }
    return true
  }

  deinit {
    guard descriptor >= 0 else { return }
    if let file, isCounted.withLock({ $0 }) {
      Self.held.withLock { held in
        let rest = (held[file] ?? 1) - 1
        held[file] = rest > 0 ? rest : nil
      }
    }
    // Closing alone would leave the lock with copies of the descriptor in children that other threads are just forking,
    // until they exec.
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }
}
