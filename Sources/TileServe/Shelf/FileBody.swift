import NIOCore
import Synchronization
import TileIndex

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A bundle's file, kept open to be sent from. Closed with the last who holds it: its reader, and whoever is sending.
final class SendableFile: Sendable {
  private let descriptor: Int32
  /// NIO lets nobody use a handle that another thread is using, so each event loop has its own, of the same descriptor.
  private let handles = Mutex<[ObjectIdentifier: NIOFileHandle]>([:])

  /// - Parameter descriptor: is duplicated.
  init?(duplicating descriptor: Int32) {
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard copy >= 0 else { return nil }
    self.descriptor = copy
  }

  deinit {
    for handle in handles.withLock({ $0 }).values { _ = try? handle.takeDescriptorOwnership() }
    close(descriptor)
  }

  /// The handle of the event loop that calls.
  func handle(_ eventLoop: any EventLoop) -> NIOFileHandle {
    handles.withLock { handles in
      if let known = handles[ObjectIdentifier(eventLoop)] { return known }
      let new = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: descriptor)
      handles[ObjectIdentifier(eventLoop)] = new
      return new
    }
  }

  /// True when sending a run of bytes does not wait for a disk.
  func isResident(_ piece: FilePiece) -> Bool { FileResidence.isResident(descriptor, piece) }
}

/// A tile in its bundle's file, for the system to send from there: no copy in our memory, and none on the way.
struct FileBody: Sendable {
  let file: SendableFile
  let pieces: [FilePiece]

  /// Smaller bodies cost less to copy than to send in pieces.
  static let bytesMin = 16384

  /// The pieces as NIO sends them; at least one.
  func regions(_ eventLoop: any EventLoop) -> [FileRegion] {
    let handle = file.handle(eventLoop)
    return pieces.map { piece in
      FileRegion(fileHandle: handle, readerIndex: Int(piece.offset), endIndex: Int(piece.offset) + piece.count)
    }
  }

  /// True when sending it does not wait for a disk.
  var isResident: Bool {
    // The pages that a large blob goes on to mostly follow each other: one question then.
    var run: FilePiece?
    for piece in pieces {
      if let before = run, piece.offset - before.offset - Int64(before.count) == 4 {
        run!.count += piece.count + 4
      } else {
        if let run, !file.isResident(run) { return false }
        run = piece
      }
    }
    return run.map(file.isResident) ?? true
  }
}
