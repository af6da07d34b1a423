// launch.cu - what launching an empty kernel costs: launch [ROUNDS]
//
// Prints two medians over the rounds, ns: "submit N" of a launch alone, as the program sees it (a burst that fits into
// the queue, divided), and "wait N" of a launch and the wait for it. Takes and frees memory once before, as every program
// does: tools that start late have started then.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

static const int burst = 500; // the queue holds 1024

__global__ void empty() {}

static void check(cudaError_t error)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "launch: %s\n", cudaGetErrorString(error));
	exit(1);
}

static double now()
{
	return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static double submit()
{
	double start = now(), end;

	for (int i = 0; i < burst; i++)
		empty<<<1, 1>>>();
	end = now();
	check(cudaDeviceSynchronize());
	return (end - start) / burst;
}

static double wait()
{
	double start = now();

	for (int i = 0; i < burst; i++) {
		empty<<<1, 1>>>();
		cudaDeviceSynchronize();
	}
	return (now() - start) / burst;
}

static double median(std::vector<double> values)
{
	std::sort(values.begin(), values.end());
	return values[values.size() / 2];
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 200;
	std::vector<double> submits, waits;
	void *memory;

	check(cudaMalloc(&memory, 1 << 20));
	check(cudaFree(memory));
	for (int i = 0; i < rounds + 10; i++) {
		double one = submit(), other = wait();

		if (i < 10) // warm up
			continue;
		submits.push_back(one);
		waits.push_back(other);
	}
	check(cudaGetLastError());
	printf("submit %.0f\nwait %.0f\n", median(submits), median(waits));
	return 0;
}
