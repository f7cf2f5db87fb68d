import Synchronization

/// The chains that verified last, by the bytes they came in: a store signs with one chain for months, and verifying one costs
/// twenty times the signature.
///
/// Only verified chains enter, so hostile evidence can at most crowd others out. Whole bytes are compared, so there is nothing to
/// collide.
final class SigningChainCache: Sendable {
  private struct Entry {
    let bytes: [UInt8]
    let chain: SigningChain
  }

  /// A handful of chains is in use at a time; more would only slow the search down.
  private static let entriesMax = 32

  private let entries = Mutex<[Entry]>([])

  /// - Complexity: O(entries), nearly all of which differ in length or in the first hundred bytes.
  func chain(for bytes: UnsafeBufferPointer<UInt8>) -> SigningChain? {
    entries.withLock { entries in
      for (index, entry) in entries.enumerated() where entry.bytes.count == bytes.count {
        guard entry.bytes.elementsEqualBytes(bytes) else { continue }
        // The most used stand in front.
        if index > 0 { entries.swapAt(index, index - 1) }
        return entry.chain
      }
      return nil
    }
  }

  func store(_ chain: SigningChain, for bytes: [UInt8]) {
    entries.withLock { entries in
      guard !entries.contains(where: { $0.bytes == bytes }) else { return }
      if entries.count == Self.entriesMax { entries.removeLast() }
      entries.append(Entry(bytes: bytes, chain: chain))
    }
  }
}

extension [UInt8] {
  /// Eight bytes at a time; `elementsEqual` takes one.
  fileprivate func elementsEqualBytes(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
    withUnsafeBytes { own in
      let other = UnsafeRawBufferPointer(other)
      guard own.count == other.count else { return false }
      var index = 0
      while index + 8 <= own.count {
        guard
          own.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            == other.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        else { return false }
        index += 8
      }
      while index < own.count {
        guard own[index] == other[index] else { return false }
        index += 1
      }
      return true
    }
  }
}
