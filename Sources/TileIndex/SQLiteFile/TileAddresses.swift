import Support

/// The address of a tile as a table stores it, and the rowid of its row.
struct TileEntry: Comparable, BitwiseCopyable {
  let column, row, rowID: UInt32
  let zoom: UInt8

  private var place: UInt64 { UInt64(column) << 32 | UInt64(row) }
  static func < (a: Self, b: Self) -> Bool { a.zoom == b.zoom ? a.place < b.place : a.zoom < b.zoom }
  func isSamePlace(as other: Self) -> Bool { zoom == other.zoom && place == other.place }

  /// Appends the record of its entry in an index by zoom, column and row.
  func append(to record: inout [UInt8]) { SQLiteRecord.append([UInt32(zoom), column, row, rowID], to: &record) }
}

/// Addresses of tiles that come in any order and are read once by rising zoom, column and row.
final class TileAddresses {
  private let sorted: SpilledSort<TileEntry>
  private var largest = (zoom: UInt8(0), column: UInt32(0), row: UInt32(0))
  var count: Int { sorted.count }

  /// - Parameters:
  ///   - target: the file that is being written, in whose folder there is room.
  ///   - heldMax: 16 bytes each.
  init(spillingBeside target: String, heldMax: Int = 1 << 20) {
    sorted = SpilledSort(beside: target, heldMax: heldMax)
  }

  /// - Throws: ``FileSystem/SystemError``.
  func append(_ address: TileEntry) throws {
    try sorted.append(address)
    largest = (max(largest.zoom, address.zoom), max(largest.column, address.column), max(largest.row, address.row))
  }

  /// The most bytes that a record of ``TileEntry/append(to:)`` has.
  var recordBytesMax: Int {
    var record: [UInt8] = []
    let address = TileEntry(column: largest.column, row: largest.row, rowID: UInt32(count), zoom: largest.zoom)
    address.append(to: &record)
    return record.count
  }

  /// Passes all to a closure, in order, and keeps none.
  ///
  /// - Throws: what the closure throws; ``FileSystem/SystemError``.
  func drain(_ body: (TileEntry) throws -> Void) throws { try sorted.drain(body) }
}

/// Elements that come in any order and are read once by rising order.
///
/// At most so many are in memory. More are sorted so many at a time and written to a file without a name, which is gone
/// when the process is, and merged when they are read.
final class SpilledSort<Element: Comparable & BitwiseCopyable> {
  private let target: String
  private let heldMax: Int
  private var held: [Element] = []
  private var spill: SpoolFile?
  /// Sections of the file, in elements.
  private var runs: [Range<Int>] = []
  private(set) var count = 0

  /// - Parameter target: the file that is being written, in whose folder there is room.
  init(beside target: String, heldMax: Int) { (self.target, self.heldMax) = (target, heldMax) }

  /// - Throws: ``FileSystem/SystemError``.
  func append(_ element: Element) throws {
    if held.count == heldMax { try spillHeld() }
    held.append(element)
    count += 1
  }

  /// Passes all to a closure, in order, and keeps none.
  ///
  /// - Throws: what the closure throws; ``FileSystem/SystemError``.
  func drain(_ body: (Element) throws -> Void) throws {
    guard let spill else {
      held.sort()
      for element in held { try body(element) }
      held = []
      return
    }
    try spillHeld()
    held = []
    var merge = try RunMerge<Element>(spill, runs)
    while let next = try merge.next() { try body(next) }
    self.spill = nil
  }

  private func spillHeld() throws {
    let file = try spill ?? unnamedFile()
    spill = file
    held.sort()
    let start = runs.last?.upperBound ?? 0
    try held.withUnsafeBytes { try file.append($0) }
    runs.append(start..<(start + held.count))
    held.removeAll(keepingCapacity: true)
  }

  /// A file that loses its name at once. What a kill in that moment leaves, the next writer of the target removes.
  private func unnamedFile() throws -> SpoolFile {
    let file = try AtomicFile(target: target)
    defer { file.remove() }
    let spool = try SpoolFile(file.path)
    spool.isKept = false
    return spool
  }
}

/// The sorted runs of a file, joined in order.
private struct RunMerge<Element: Comparable & BitwiseCopyable> {
  /// 64 KiB of each run are in memory.
  private let blockMax = max((64 << 10) / MemoryLayout<Element>.stride, 1)

  private struct Run {
    var left: Range<Int>
    var block: [Element] = []
    var position = 0
  }

  private let file: SpoolFile
  private let stride = MemoryLayout<Element>.stride
  private var runs: [Run]
  /// A binary heap of indices of runs, that with the lowest next address first.
  private var heap: [Int] = []

  init(_ file: SpoolFile, _ runs: [Range<Int>]) throws {
    self.file = file
    self.runs = runs.map { Run(left: $0) }
    for run in runs.indices where try fill(run) {
      heap.append(run)
      // A new one rises to its place.
      var index = heap.count - 1
      while index > 0, precedes(heap[index], heap[(index - 1) / 2]) {
        heap.swapAt(index, (index - 1) / 2)
        index = (index - 1) / 2
      }
    }
  }

  mutating func next() throws -> Element? {
    guard let run = heap.first else { return nil }
    let address = runs[run].block[runs[run].position]
    runs[run].position += 1
    if runs[run].position == runs[run].block.count, try !fill(run) {
      heap[0] = heap[heap.count - 1]
      heap.removeLast()
    }
    sink()
    return address
  }

  /// Reads the next block of a run; false at its end.
  private mutating func fill(_ run: Int) throws -> Bool {
    let left = runs[run].left
    let part = left.prefix(blockMax)
    guard !part.isEmpty else { return false }
    runs[run].block = try [Element](unsafeUninitializedCapacity: part.count) { block, count in
      try file.read(into: UnsafeMutableRawBufferPointer(block), at: part.lowerBound * stride)
      count = part.count
    }
    runs[run].position = 0
    runs[run].left = part.upperBound..<left.upperBound
    return true
  }

  private func precedes(_ a: Int, _ b: Int) -> Bool {
    runs[a].block[runs[a].position] < runs[b].block[runs[b].position]
  }

  /// The first of the heap sinks to its place.
  private mutating func sink() {
    var index = 0
    while true {
      var lowest = index
      for child in [2 * index + 1, 2 * index + 2] where child < heap.count && precedes(heap[child], heap[lowest]) {
        lowest = child
      }
      guard lowest != index else { return }
      heap.swapAt(index, lowest)
      index = lowest
    }
  }
}
